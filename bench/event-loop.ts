/**
 * Loaded into the server by `--import`: SIGUSR2 writes how long its event loop was without a turn since the last signal, in
 * milliseconds: by the clock, and as processor time of its thread.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { createHistogram } from 'node:perf_hooks';
import process from 'node:process';

/** The longest time without a turn. */
export interface LongestBlock {
  readonly millis: number;
  /** Without the time in which other processes had the processor. */
  readonly cpuMillis: number;
}

/** What is written. */
export interface LoopDelays extends LongestBlock {
  /** Of a thousand delays of a timer 999 are below it, by the clock. */
  readonly p999Millis: number;
  readonly cpuP999Millis: number;
}

const file = process.env.BENCH_EVENT_LOOP ?? '';
const TICK_MS = 1;

const now = (): LongestBlock => {
  const { user, system } = process.threadCpuUsage();
  return { millis: performance.now(), cpuMillis: (user + system) / 1_000 };
};
let last = now();
let longest: LongestBlock = { millis: 0, cpuMillis: 0 };
/** In microseconds, from 1. */
const delays = { clock: createHistogram(), cpu: createHistogram() };
const record = (name: keyof typeof delays, millis: number): void =>
  delays[name].record(Math.max(1, Math.round(millis * 1_000)));
const p999 = (name: keyof typeof delays): number => delays[name].percentile(99.9) / 1_000;

setInterval(() => {
  const next = now();
  record('clock', next.millis - last.millis - TICK_MS);
  record('cpu', next.cpuMillis - last.cpuMillis);
  longest = {
    millis: Math.max(longest.millis, next.millis - last.millis - TICK_MS),
    cpuMillis: Math.max(longest.cpuMillis, next.cpuMillis - last.cpuMillis),
  };
  last = next;
}, TICK_MS).unref();

process.on('SIGUSR2', () => {
  const written: LoopDelays = { ...longest, p999Millis: p999('clock'), cpuP999Millis: p999('cpu') };
  writeFileSync(`${file}.new`, JSON.stringify(written));
  renameSync(`${file}.new`, file);
  longest = { millis: 0, cpuMillis: 0 };
  for (const histogram of Object.values(delays)) histogram.reset();
  last = now();
});
