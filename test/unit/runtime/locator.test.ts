import { describe, expect, it } from 'vitest';
import { decoders } from '../../../src/domains/decoders.ts';
import { createLocator as createPlaceLocator, type LocateAll } from '../../../src/manifest/locate.ts';
import { createLocator, locatedDiagnostics } from '../../../src/runtime/api/locator.ts';
import { bytesOf } from '../../support/decoding.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml } from '../../support/manifests.ts';

describe('the lines of diagnostics', () => {
  /** Two files of three documents each, which go to no cluster. */
  const text = ['a', 'b', 'c'].map((name) => configMapYaml(name, '1')).join('---\n');
  const located = async (locate: LocateAll, read: () => Promise<Uint8Array | undefined>) => {
    const world = await createFleetWorld();
    world.source.push({ 'x.yaml': text, 'y.yaml': text.replaceAll('namespace: web', 'namespace: app') });
    await world.settle();
    const { engine } = world.server;
    const sources = { get: () => ({ source: { read } }) as never };
    const locator = createLocator({ engine, sources, locate });
    const lines = async () =>
      (await locatedDiagnostics(engine, locator)).map(({ at }) => `${at?.path}:${at?.line ?? 'no line'}`);
    return { lines };
  };

  it('are found with one reading of each file, and then known', async () => {
    const parsed: string[] = [];
    let reads = 0;
    const { lines } = await located(
      async (path, bytes, places) => {
        parsed.push(`${path} ${places.length}`);
        return places.map(createPlaceLocator(decoders, path, bytes));
      },
      async () => {
        reads += 1;
        return bytesOf(text);
      },
    );
    expect(new Set(await lines()).size).toBeGreaterThan(1);
    expect(parsed.sort()).toEqual(['x.yaml 3', 'y.yaml 3']);
    await lines();
    expect([parsed.length, reads]).toEqual([2, 2]);
  });

  it('are missing for a file that cannot be parsed in time, which is not tried again', async () => {
    let tries = 0;
    const { lines } = await located(
      async () => {
        tries += 1;
        throw new Error('too late');
      },
      async () => bytesOf(text),
    );
    for (let round = 0; round < 2; round += 1) expect((await lines())[0]).toBe('x.yaml:no line');
    expect(tries).toBe(2);
  });

  it('are looked for again while the source cannot be read', async () => {
    let reads = 0;
    const { lines } = await located(
      async (path, bytes, places) => places.map(createPlaceLocator(decoders, path, bytes)),
      async () => {
        reads += 1;
        return reads <= 2 ? undefined : bytesOf(text);
      },
    );
    expect((await lines())[0]).toBe('x.yaml:no line');
    expect((await lines())[0]).toBe('x.yaml:1');
  });
});
