import { silentLog } from './silent-log.ts';

let time = 0;

/** What sealed stores need, all with one clock, which advances with each look at it. */
export const sealing = {
  clock: {
    now: (): number => {
      time += 1;
      return time;
    },
  },
  log: silentLog,
};
