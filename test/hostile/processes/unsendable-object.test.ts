import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverSettings } from '../../../bench/fleet/as-shipped.ts';
import { memoryOf } from '../../../bench/process-figures.ts';
import { escapedText, manyValues, plainText } from '../../support/expanding-manifests.ts';
import { type Fleet, startFleet, until } from '../../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

/** Objects that the relay does not carry, of a source with few rights, in a real fleet whose first source goes on. */

const MIB = 1024 * 1024;
/** The server, the thread that decodes, and what is not collected yet. */
const MOST_MIB = 500;

describe('a server with a source whose small files stand for large objects', () => {
  let fleet: Fleet;
  let counter = 0;

  beforeAll(async () => {
    const platform = {
      'clusters/east/cluster.yaml': clusterYaml('east'),
      'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
      'apps/good.yaml': configMapYaml('good', 'first'),
    };
    const team = { 'place.yaml': placementYaml('odd', 'odd/**', 'names: [east]') };
    const allow = { team: { targets: ['east'], namespaces: ['x'] } };
    fleet = await startFleet(platform, { poll: 1, sources: { team }, config: { allow }, serverEnv: serverSettings() });
    await fleet.agent('east').start();
    await until('east holds good', async () => (await fleet.live('east', 'ConfigMap/web/good'))?.includes('first'));
  });
  afterAll(async () => fleet?.stop());

  const team = async () => (await fleet.status()).sources.find(({ name }) => name === 'team');

  /** Pushes files of the team, and waits until the server has judged them and a later push of the platform is in the cluster. */
  async function judged(files: Readonly<Record<string, string | null>>) {
    const commit = fleet.push(files, 'team');
    const found = await until('the source has judged the revision', async () => {
      const now = await team();
      return now?.revision === commit || now?.refusedRevision === commit ? now : undefined;
    });
    counter += 1;
    fleet.push({ 'apps/good.yaml': configMapYaml('good', `push-${counter}`) });
    await until('east has the next push', async () =>
      (await fleet.live('east', 'ConfigMap/web/good'))?.includes(`push-${counter}`),
    );
    return found;
  }

  it.each([
    ['245,000 values in 4 kB', manyValues('odd')],
    ['94 MB of JSON in 70 kB', escapedText('odd', 15 * MIB)],
  ])('delivers what comes after it: %s', async (_, text) => {
    const found = await judged({
      'odd/odd.yaml': text,
      'odd/fine.yaml': configMapYaml('fine', `beside ${counter}`, 'x'),
    });
    expect(found.message).toContain('1 of 3 manifests cannot be read');
    expect(await fleet.live('east', 'ConfigMap/x/fine')).toContain('beside');
    const diagnostics = (await fleet.status()).diagnostics;
    expect(JSON.stringify(diagnostics)).toContain('odd/odd.yaml');
  });

  it('lets a revision wait whose files are 540 MiB together, and names the largest', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 36 }, (_, at) => [`odd/f${at + 10}.yaml`, plainText(`f${at + 10}`, 15 * MIB)]),
    );
    const found = await judged({ ...files, 'odd/odd.yaml': null });
    expect(found).toMatchObject({
      reason: 'TooLarge',
      message: expect.stringMatching(/limits\.revision\.expandedBytes .*the largest files are odd\/f10\.yaml /),
    });
    expect(memoryOf(fleet.server.pid() ?? expect.fail('the server runs')).peakMiB).toBeLessThan(MOST_MIB);
  });
});
