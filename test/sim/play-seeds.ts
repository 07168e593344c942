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
