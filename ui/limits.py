"""What is the most that this app does for anybody, and why?

Everything that a visitor could make large has its bound here: what can be said, asked for and sent,
what is kept, and for how long. The core's own ranges are wider and stay in the core, which serves
notebooks too; where a page offers exactly those, it asks for them there. `make bench` runs the
largest of every page (``python -m tests.benchmarks largest``).
"""

from __future__ import annotations

# --- What a visitor can say -----------------------------------------------------------------------

QUOTED_CHARACTERS = 40  # of a value in the link: a sentence repeats so much of it
LINK_NUMBERS = 1024  # of one parameter: twelve values of sixteen channels are 192
DRAWN_POINTS_IN_LINK = 500  # four letters each: longer addresses are cut by some programs
TABLE_LETTERS_IN_LINK = 2000  # of a pasted or uploaded table: as many as the largest drawing takes
PASTED_CHARACTERS = 1_000_000  # in a box of text, as in a file: they travel with every run
LARGEST_DRAGGED = 1e6  # its fourth power still fits into float32, which pictures are made of
UPLOAD_MB = 1  # a table of points, as the core reads it: Streamlit counts in whole MB
MESSAGE_MB = 50  # either way: no control sends more than a table, no page as much as a film

# --- What a page offers ---------------------------------------------------------------------------
# Small models: what they do can be looked at. Each is (least, most).

MANIFOLD_LAYERS = (1, 8)
MANIFOLD_CHANNELS = (2, 16)  # in two dimensions every map is flat
MANIFOLD_VALUES = (2, 12)
MANIFOLD_HEADS = (1, 4)
MANIFOLD_SHARPNESS = (1.0, 60.0)  # beyond that weights are 0 and 1 almost everywhere
GRID_POINTS = (31, 61, 91, 121, 151)  # along each side: 151 is finer than a picture's pixels
DIAL_COST = 1.05e7  # of `cost` times points, all strengths together: two seconds of one core
OPINION_COST = 1e10  # the same of a second opinion: some ten seconds of one core
LANDING_LAYERS = (1, 2, 3, 4)  # few, for a first look
GATED_CHANNELS = (3, 8)  # of one layer whose conic is drawn
BOUNDARY_LAYERS = (1, 4)
BOUNDARY_CHANNELS = (3, 16)  # fewer than three cannot be drawn as a surface
BOUNDARY_VALUES = (2, 8)
BOUNDARY_HEADS = (1, 4)
BOUNDARY_STEPS = (50, 4000)
BOUNDARY_SEEDS = (2, 32)  # trained as one batch; an interval needs two
BOUNDARY_POINTS = (64, 4000)  # training and test points of each seed
TRAINING_NUMBERS = 6e8  # `Setting.training_numbers`: half a minute of one core
OTHERS_COST = 1.5e9  # of `along_cost`, all seeds but the shown one: some ten seconds of two cores
BOUNDARY_BATCHES = (16, 32, 64, 128)  # points a step
CLAIMS_SECONDS = 3600.0  # of two cores, as predicted, for a study: one at a time runs for everybody
ADDRESS_CHARACTERS = 100  # of a scheduler: a host's name and a port
VARIANTS_BESIDE = 4  # trained for the table, beside the two that are drawn

# --- What is kept for all visitors, until something newer needs the place -------------------------
# Few where an entry is large, many where it is small; measured sizes stand beside them.

CACHED_RESOLVED = 256  # requests of Manifold: kilobytes
CACHED_FIGURES = 96  # of Plotly, some three for each model: 0.1 to 0.3 MB at first sight
CACHED_DRAWINGS = 32  # points of a link, as data
CACHED_ADDRESSES = 48  # of arrays sent lately, 1 MB each; two workers make two films a second
CACHED_TILES = 14  # one picture for each task, one for own points
STORE_STAMPS_SECONDS = 10.0  # between two looks at the rows of a running study: verdicts take two
CACHE_BYTES = 300_000_000  # of surfaces and pictures: two dozen models of Manifold
PASSING_BYTES = 80_000_000  # of films of what still trains: one a second for each worker, 6 MB each
NUMBERS_BYTES = 20_000_000  # of totals, exponents, trained layers: little that took seconds
RUNS_BYTES = 150_000_000  # of arrays: some hundred runs like the first one

# --- What is done at once, and for how long -------------------------------------------------------

SCRIPTS_AT_ONCE = 3  # of pages, in the one interpreter of the server; others wait for a turn,
SCRIPT_WAIT_SECONDS = 5.0  # but not for longer
FIRST_WORKERS = 2  # processes that compute, at the start; one for each core at most
WARM_SECONDS = 4.0  # after the first page was drawn: then they start, though nobody needs them
WORKER_BYTES = 2_000_000_000  # of memory for each: the largest that is offered needs half of that
JOB_ITEMS = 1000  # of a job: what it yields beyond that takes the place of the oldest
DEPARTED_JOBS = 8  # jobs of ended sessions that keep their items, for a visitor who reconnects
ADDRESS_SECONDS = 20.0  # for a slow browser to ask for what it was sent
RETURN_SECONDS = 2.0  # a lost connection is usually back by then
# Measured in Chromium: a hidden tab polls once a second, and once a minute after a while.
PATIENCE_SECONDS = 90.0
