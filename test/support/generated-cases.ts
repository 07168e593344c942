import fc from 'fast-check';

/**
 * Generated tests play the same cases in each run, so that a change is judged by what it changes. `FLEETRELAY_SEED=N`
 * plays others, `FLEETRELAY_SEED=random` new ones each time.
 */
const seed = process.env.FLEETRELAY_SEED ?? '1';

if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
