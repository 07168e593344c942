import { playDataplanes } from './dataplanes/play.ts';
import { type MirrorPlay, playMirrors } from './mirrors/play.ts';
import { type PlayOptions, playSeed } from './play.ts';

/** Plays these seeds; what failed, with how to repeat it. */
export async function failuresOf(from: number, seeds: number, how: PlayOptions = {}): Promise<readonly string[]> {
  const failed: string[] = [];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const { violations } = await playSeed(seed, how);
    const [first] = violations;
    if (first !== undefined) failed.push(`npm run sim -- --seed ${seed}: ${first.checker}: ${first.message}`);
  }
  return failed;
}

/** The same of a fleet whose clusters mirror each other's services. */
export async function mirrorFailuresOf(from: number, seeds: number, how: MirrorPlay = {}): Promise<readonly string[]> {
  const failed: string[] = [];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const [first] = await playMirrors(seed, {}, how);
    if (first !== undefined) failed.push(`${seed}: ${first.checker}: ${first.message}`);
  }
  return failed;
}

/** The same of a fleet with data planes. */
export async function dataplaneFailuresOf(from: number, seeds: number): Promise<readonly string[]> {
  const failed: string[] = [];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const [first] = await playDataplanes(seed);
    if (first !== undefined) failed.push(`${seed}: ${first.checker}: ${first.message}`);
  }
  return failed;
}
