/**
 * `npm run test:long` runs, and runs nothing but, what `npm test` leaves out: it takes too long for every change. Its tests
 * are in `test/sim/long` and in the suites that ask this constant.
 */
export const isLong = process.env.FLEETRELAY_TESTS === 'long';
