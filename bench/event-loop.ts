/**
 * Loaded into the server by `--import`: SIGUSR2 writes how long its event loop was without a turn since the last signal, in
 * milliseconds: by the clock, and as processor time of its thread.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { constants, createHistogram, PerformanceObserver } from 'node:perf_hooks';
import process from 'node:process';

/** The longest time without a turn. */
export interface LongestBlock {
  readonly millis: number;
  /** Without the time in which other processes had the processor. */
  readonly cpuMillis: number;
}

/** A time without a turn that took much of the processor. */
export interface LongTurn {
  readonly cpuMillis: number;
  /** Of the clock: in collections of the whole heap, and in collections of new objects. */
  readonly fullGcMillis: number;
  readonly newGcMillis: number;
}

/** What is written. */
export interface LoopDelays extends LongestBlock {
  /** Of a thousand delays of a timer 999 are below it, by the clock. */
  readonly p999Millis: number;
  readonly cpuP999Millis: number;
  /** Turns of more than {@link LONG_MS} of processor time, the longest first, at most {@link MOST_LISTED}. */
  readonly longTurns: readonly LongTurn[];
  readonly longTurnCount: number;
}

const file = process.env.BENCH_EVENT_LOOP ?? '';
const TICK_MS = 1;
const LONG_MS = 50;
const MOST_LISTED = 20;

const now = (): LongestBlock => {
  const { user, system } = process.threadCpuUsage();
  return { millis: performance.now(), cpuMillis: (user + system) / 1_000 };
};
let last = now();
let longest: LongestBlock = { millis: 0, cpuMillis: 0 };
let long: { readonly begin: number; readonly end: number; readonly cpuMillis: number }[] = [];
let collections: { readonly begin: number; readonly millis: number; readonly isFull: boolean }[] = [];
/** In microseconds, from 1. */
const delays = { clock: createHistogram(), cpu: createHistogram() };
const record = (name: keyof typeof delays, millis: number): void =>
  delays[name].record(Math.max(1, Math.round(millis * 1_000)));
const p999 = (name: keyof typeof delays): number => delays[name].percentile(99.9) / 1_000;

new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { startTime, duration } = entry;
    const { kind } = (entry as typeof entry & { readonly detail: { readonly kind: number } }).detail;
    collections.push({ begin: startTime, millis: duration, isFull: kind !== constants.NODE_PERFORMANCE_GC_MINOR });
  }
}).observe({ entryTypes: ['gc'] });

setInterval(() => {
  const next = now();
  record('clock', next.millis - last.millis - TICK_MS);
  const cpuMillis = next.cpuMillis - last.cpuMillis;
  record('cpu', cpuMillis);
  if (cpuMillis > LONG_MS) long.push({ begin: last.millis, end: next.millis, cpuMillis });
  longest = {
    millis: Math.max(longest.millis, next.millis - last.millis - TICK_MS),
    cpuMillis: Math.max(longest.cpuMillis, cpuMillis),
  };
  last = next;
}, TICK_MS).unref();

function longTurns(): readonly LongTurn[] {
  const inside = (begin: number, end: number, isFull: boolean): number =>
    collections
      .filter((one) => one.isFull === isFull && one.begin >= begin && one.begin < end)
      .reduce((sum, { millis }) => sum + millis, 0);
  return long
    .sort((a, b) => b.cpuMillis - a.cpuMillis)
    .slice(0, MOST_LISTED)
    .map(({ begin, end, cpuMillis }) => ({
      cpuMillis: Math.round(cpuMillis),
      fullGcMillis: Math.round(inside(begin, end, true)),
      newGcMillis: Math.round(inside(begin, end, false)),
    }));
}

process.on('SIGUSR2', () => {
  const turns = { longTurns: longTurns(), longTurnCount: long.length };
  const written: LoopDelays = { ...longest, p999Millis: p999('clock'), cpuP999Millis: p999('cpu'), ...turns };
  writeFileSync(`${file}.new`, JSON.stringify(written));
  renameSync(`${file}.new`, file);
  longest = { millis: 0, cpuMillis: 0 };
  [long, collections] = [[], []];
  for (const histogram of Object.values(delays)) histogram.reset();
  last = now();
});
