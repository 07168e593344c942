/**
 * Loaded into the server by `--import`: SIGUSR2 writes what the longest time without a turn of its event loop was since the last
 * signal, in milliseconds: by the clock, and as processor time of its thread.
 */
import { renameSync, writeFileSync } from 'node:fs';
import process from 'node:process';

/** What is written. */
export interface LongestBlock {
  readonly millis: number;
  /** Without the time in which other processes had the processor. */
  readonly cpuMillis: number;
}

const file = process.env.BENCH_EVENT_LOOP ?? '';
const TICK_MS = 1;

const now = (): LongestBlock => {
  const { user, system } = process.threadCpuUsage();
  return { millis: performance.now(), cpuMillis: (user + system) / 1_000 };
};
let last = now();
let longest: LongestBlock = { millis: 0, cpuMillis: 0 };

setInterval(() => {
  const next = now();
  longest = {
    millis: Math.max(longest.millis, next.millis - last.millis - TICK_MS),
    cpuMillis: Math.max(longest.cpuMillis, next.cpuMillis - last.cpuMillis),
  };
  last = next;
}, TICK_MS).unref();

process.on('SIGUSR2', () => {
  writeFileSync(`${file}.new`, JSON.stringify(longest));
  renameSync(`${file}.new`, file);
  longest = { millis: 0, cpuMillis: 0 };
  last = now();
});
