import { atOnce } from '../../src/model/values/in-slices.ts';
import type { Membership } from '../../src/sources/tree/ignore-file.ts';

/** Whether the ignore rules let a path belong to the source. */
export function follows({ judge }: Membership, path: string): boolean {
  return atOnce(judge(path, () => undefined));
}
