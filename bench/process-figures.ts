/** What a process takes, as Linux says it. */
import { readFileSync, writeFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** Processor time of a process so far. */
export function cpuSeconds(pid: number): number {
  // The name of the program, in brackets, may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Memory that a process has in use, in MiB: the most since it began, and now. */
export function memoryOf(pid: number): { readonly peakMiB: number; readonly restMiB: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const figure = (name: string): number =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 102.4) / 10;
  return { peakMiB: figure('VmHWM'), restMiB: figure('VmRSS') };
}

/** From now on the peak of a process is the most that it has from now on. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
