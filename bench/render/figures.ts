/** Runs the bundle of the command line (`figures.ts BUNDLE FILE ARGUMENTS...`) and writes to a file what the process took. */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

const [bundle = '', file = ''] = process.argv.splice(2, 2);
process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const { user, system } = process.threadCpuUsage();
  const seconds = (micros: number): number => Math.round(micros / 10_000) / 100;
  const figures = {
    cpuSeconds: seconds(userCPUTime + systemCPUTime),
    mainSeconds: seconds(user + system),
    peakMiB: Math.round(maxRSS / 1024),
  };
  writeFileSync(file, JSON.stringify(figures));
});
const { runProcess } = (await import(pathToFileURL(bundle).href)) as { runProcess: () => Promise<void> };
await runProcess();
