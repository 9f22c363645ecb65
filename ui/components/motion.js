// What plays by itself: with reduced motion its end is shown at once.

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
const eased = share => share * share * (3 - 2 * share);
