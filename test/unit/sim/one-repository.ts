import type { Source } from '../../../src/ports/source.ts';
import type { MakeChecker } from '../../sim/checkers/checker.ts';
import type { FileModel } from '../../sim/desired.ts';
import { createWorld } from '../../sim/world.ts';

/** Seed of a world with one server and one repository. */
const SEED = 9;

/** Creates a world with one server, one repository and one checker. `found` lists what the checker reports. */
export function worldWithChecker(makeChecker: MakeChecker) {
  const sources: Source[] = [];
  const source = (_world: unknown, own: Source): Source => {
    sources.push(own);
    return own;
  };
  const world = createWorld(SEED, { tampering: { source } });
  const [repository] = world.repositories;
  if (repository === undefined) throw new Error('the world has no repository');
  const found: string[] = [];
  const { stepped } = makeChecker(world, (message) => found.push(message));
  const pass = (milliseconds: number): Promise<void> => world.time.advance(milliseconds, stepped);
  return {
    ...{ world, found, pass },
    /** Commits the files and starts all servers and agents. */
    begin: async (files: ReadonlyMap<string, FileModel>): Promise<void> => {
      repository.commit(files);
      for (const { start } of [...world.servers, ...world.agents]) start();
      await pass(30_000);
    },
    /** Commits changes (null: the file is removed), which the sources read at once. */
    commit: (changes: ReadonlyMap<string, FileModel | null>): void => {
      repository.commit(changes);
      for (const { look } of sources) void look?.();
    },
  };
}
