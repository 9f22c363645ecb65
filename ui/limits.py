"""Limits of the app: everything that a visitor could make large has its bound here.

The core's own ranges are wider and stay in the core, which serves notebooks too; pages that offer
exactly those import them from there.
"""

from __future__ import annotations

# --- Input ----------------------------------------------------------------------------------------

QUOTED_CHARACTERS = 40  # of a value in the link, as repeated in a sentence
FORMULA_CHARACTERS = 10_000  # in the field of a formula, and so in the link: more than it may have
LINK_CONTROLS = 100  # that a link hides or locks: more than any page has
LINK_NUMBERS = 1024  # of one parameter of the link: twelve values of sixteen channels are 192
DRAWN_POINTS_IN_LINK = 500  # four letters each: some programs cut longer addresses
TABLE_LETTERS_IN_LINK = 2000  # of a pasted or uploaded table: as for the largest drawing
PASTED_CHARACTERS = 400_000  # in a box of text, four bytes each: they are sent with every run
LARGEST_DRAGGED = 1e6  # its fourth power fits into float32, which pictures use
UPLOAD_MB = 1  # a table of points: the core's limit in Streamlit's whole MB
SESSION_UPLOADS = 4  # files that a session holds: the oldest gives way
SESSION_UPLOAD_BYTES = 4_000_000
ALL_UPLOAD_BYTES = 64_000_000  # of all sessions: whoever holds most gives way
SESSION_DOWNLOADS = 4  # that are made at the same time
MESSAGE_MB = 50  # to a browser: more than any page
WIDGETS_MB = 2  # from a browser: a message, which has the values of all controls and the link
FRAGMENTS = 1000  # of such a message: a browser sends one, or one for each 128 kB
BODY_BYTES = 1000  # of a request that is no upload: a vote
HEAD_BYTES = 131_072  # of a request: the address of a page holds its drawing
READ_CHARACTERS = 127  # of a text that a language model reads, and its beginning
STEERED_CHARACTERS = 60  # of a beginning that is steered: the context holds what is written, too

# --- Ranges of controls ---------------------------------------------------------------------------
# Small models, whose surfaces can be looked at. Each range is (least, most).

MANIFOLD_LAYERS = (1, 8)
MANIFOLD_CHANNELS = (2, 16)  # with two channels every map is flat
MANIFOLD_VALUES = (2, 12)
MANIFOLD_HEADS = (1, 4)
MANIFOLD_SHARPNESS = (1.0, 60.0)  # beyond it weights are 0 or 1 almost everywhere
DIAL_SECONDS = 1.05  # of a core, as predicted, for all strengths of a gate
LANDING_LAYERS = (1, 2, 3, 4)  # few, for a first look
GATED_CHANNELS = (3, 8)  # of the layer whose conic is drawn
BOUNDARY_LAYERS = (1, 4)
BOUNDARY_CHANNELS = (3, 16)  # fewer cannot be drawn as a surface
BOUNDARY_VALUES = (2, 8)
BOUNDARY_HEADS = (1, 4)
BOUNDARY_STEPS = (50, 4000)
BOUNDARY_SEEDS = (2, 32)  # trained as one batch; an interval needs two
BOUNDARY_POINTS = (64, 4000)  # training and test points of each seed
TRAINING_NUMBERS = 6e8  # of `Setting.training_numbers`: half a minute of one core
PROOF_SECONDS = 60.0  # of a worker for one proof: the largest models judge few cells in that time
OTHERS_COST = 1.5e9  # `along_cost` of all seeds but the shown one: some ten seconds of two cores
BOUNDARY_BATCHES = (16, 32, 64, 128)  # points in a step
EXPERTS_CHANNELS = (2, 8)  # of the entry that is decomposed: a tree of D n leaves
EXPERTS_HEADS = (1, 4)
EXPERTS_TOKENS = (2, 6)
TEACHER_DIM = (2, 6)  # of what is learned from data: a fit has some hundred parameters
TEACHER_HEADS = (1, 2)
TEACHER_EXPERTS = (1, 4)  # of each head
TEACHER_TOKENS = (2, 4)
TEACHER_REPEATS = (4, 32)
TEACHER_NOISE = (0.03, 3.0)
LEARNING_COST = 4e7  # `SampleRequest.cost` of all gates: a minute of two cores
STUDENTS_DRAWN = 5
CURVES_CHANNELS = (2, 8)  # of what is trained on more and more points
CURVES_VALUES = (2, 6)
TOY_SEEDS = (0, 9000)  # the first of eight
WRITE_TEMPERATURE = (0.0, 2.0)
LEFT_OUT_KEYS = 16  # at least, of a synthetic sample
LEFT_OUT_SEEDS = (0, 9999)
LEFT_OUT_BUDGETS = (2, 64)  # keys of a cache
LEFT_OUT_SINKS = (0, 16)  # keys at the beginning
LEFT_OUT_MEMORY = (2.0, 1000.0)  # tokens
LEFT_OUT_OVERLAP = (0.0, 0.9)  # the mean q·k of two keys
OWN_CHARACTERS = 2000  # of a text for a visitor's model: 256 tokens are read
DRAWN_GATE_SEEDS = (0, 9999)
DRAWN_GATE_SPREAD = (0.5, 4.0)  # standard deviation of its logits
VARIANTS_BESIDE = 4  # in the table of results, beside the two that are drawn

# --- Caches that all visitors share ---------------------------------------------------------------
# The number of entries, or the bytes of all, with measured sizes of one entry.

CACHED_RESOLVED = 256  # models of Manifold, as requested: kilobytes
LOADED_MODELS = 24  # language models: 2 MB each
CACHED_DRAWINGS = 32  # tables of points from links
SENT_BYTES = 64_000_000  # of pictures as they are sent, 1 to 7 MB each
CACHED_ADDRESSES = 48  # of arrays sent recently, 1 MB each; two workers send two a second
STORE_STAMPS_SECONDS = 10.0  # between two readings of a running study's rows: verdicts take two
CACHE_BYTES = 300_000_000  # surfaces and pictures: two dozen models of Manifold
PASSING_BYTES = 80_000_000  # frames of running trainings: 6 MB a second for each worker
READINGS_BYTES = 24_000_000  # texts as language models read them: 1 MB for 127 characters
NUMBERS_BYTES = 20_000_000  # totals, exponents, trained layers: small results that took seconds
RUNS_BYTES = 150_000_000  # complete runs: some hundred like the first one

# --- Concurrency and times ------------------------------------------------------------------------

SCRIPTS_AT_ONCE = 3  # page scripts that run in the server's one interpreter
SCRIPT_WAIT_SECONDS = 5.0  # of other scripts at most: then they run in any case
WARM_SECONDS = 4.0  # after the first page was drawn: then the first worker starts
VIEW_SECONDS = 10.0  # of a core for one view, of which pages predict less than one
BRIEF_SECONDS = 60.0  # the same for a view that takes longer
WORKER_BYTES = 2_000_000_000  # of memory for each worker: the largest model needs half of it
ADDRESS_SECONDS = 20.0  # in which a slow browser can load arrays
RETURN_SECONDS = 2.0  # in which a lost connection usually comes back

# --- Connections ----------------------------------------------------------------------------------

CONNECTIONS = 2000  # then the one that has been waited for longest gives way
REQUEST_SECONDS = 15.0  # in which a request has to come, and an answer to be read on
FILES_FOR_WORK = 16  # of the system, that connections leave to drawing and workers
FILES_FOR_VISITORS = 32  # that new sessions leave to the connections of those who are here

# --- Classes --------------------------------------------------------------------------------------

CLASSES_AT_ONCE = 50
CLASS_STUDENTS = 300  # of one class: at 300 phones, polls take a tenth of a core
CLASS_SECONDS = 2 * 3600.0  # then a class ends by itself
CLASS_TOKEN_SECONDS = 300.0  # in which a link that gives the teacher's rights can be used, once
CLASS_HERE_SECONDS = 40.0  # who has asked within this time is in the room: a phone sleeps less
CLASS_ASKS_PER_SECOND = 4.0  # of one phone, which polls every second and a half, in some tabs
CLASS_EMPTY_SECONDS = 600.0  # a class that nobody has joined then gives way where there are many
CLASS_TOKENS = 5  # of one class that wait to be used: the oldest gives way
CLASSES_UNUSED = 10  # of one address that nobody has joined: the oldest gives way
STRANGERS_PER_SECOND = 20.0  # of one address that join, or try codes: one is of 900 million
ADDRESSES_KEPT = 1000  # whose rates are known
