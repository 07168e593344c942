import { describe, expect, it } from 'vitest';
import { parseSourceName } from '../../../../src/model/fleet/ids.ts';
import { sha256 } from '../../../../src/model/text/digest.ts';
import { must } from '../../../../src/model/values/result.ts';
import { createGitSource, type GitSourceOptions } from '../../../../src/sources/git/git-source.ts';
import { decodeFile } from '../../../support/decode-file.ts';
import { createFakeGitRemote } from '../../../support/git-fake-repo.ts';
import { createKeptLog } from '../../../support/git-quiet-log.ts';
import { configMapYaml } from '../../../support/manifests.ts';
import { createSourceRecorder } from '../../../support/source-recorder.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const approval = (name: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: ${name}}\nspec:\n  digest: ${sha256(name)}\n`;

/** The verdicts of the revision that holds these files, and the paths that were asked for. */
async function verdictsOn(files: Readonly<Record<string, string>>, options: Partial<GitSourceOptions>) {
  const remote = createFakeGitRemote();
  const asked: string[] = [];
  remote.signatureOf = (_commit, path) => {
    asked.push(path);
    return { signer: 'alice' };
  };
  remote.push(files);
  const clock = createVirtualClock();
  const random = { next: () => 0.5, id: () => 'id' };
  const source = createGitSource(
    { repo: remote.repo('main'), decode: decodeFile, clock, random, log: createKeptLog() },
    { name: must(parseSourceName('fleet')), pollIntervalSeconds: 60, ...options },
  );
  const told = createSourceRecorder();
  source.start(told, undefined, []);
  await clock.settle();
  await source.stop();
  return { verdicts: told.observations.at(-1)?.signatures, asked };
}

describe('the verdicts on approvals of a git source', () => {
  it('are there for files with a RemovalApproval only, by their paths in the whole repository', async () => {
    const files = {
      'prod/a.yaml': configMapYaml('a', '1'),
      'prod/b/mine.yaml': approval('mine'),
      'c.yaml': approval('c'),
    };
    const { verdicts, asked } = await verdictsOn(files, { judgesSignatures: true, path: 'prod' });
    expect(verdicts).toEqual({ 'b/mine.yaml': { signer: 'alice' } });
    expect(asked).toEqual(['prod/b/mine.yaml']);
  });

  it('are not made unless signatures count', async () => {
    expect(await verdictsOn({ 'a.yaml': approval('a') }, {})).toEqual({ verdicts: undefined, asked: [] });
  });

  it('are made for a bounded number of files, since each costs the verification of a commit', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `a${String(index).padStart(2, '0')}`);
    const files = Object.fromEntries(names.map((name) => [`${name}.yaml`, approval(name)]));
    const { verdicts = {}, asked } = await verdictsOn(files, { judgesSignatures: true });
    expect(asked).toEqual(names.slice(0, 20).map((name) => `${name}.yaml`));
    expect(verdicts['a19.yaml']).toEqual({ signer: 'alice' });
    expect(verdicts['a20.yaml']).toEqual({
      problem: expect.stringMatching(/at most 20 files .* delete those that were used/),
    });
  });
});
