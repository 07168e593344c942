import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noProgram } from '../../support/programs.ts';
import { createSigningWorld, type SigningWorld } from '../../support/signed-commits.ts';

/** Signatures by real keys, judged by real git: which commit counts for an approval in a file, and whose signature. */

const FILE = 'approvals/mine.yaml';
const approval = (digest = 'a'): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: mine}\nspec:\n  digest: sha256:${digest.repeat(64)}\n`;
const by = (person: string) => ({ signer: `${person}@example.com` });
const refused = (problem: RegExp) => ({ problem: expect.stringMatching(problem) });
const OTHER_KEY = /brought it is signed with a key that is not one of an approval signer/;
const NO_SIGNATURE = /brought it has no signature/;

let world: SigningWorld;
beforeEach(() => {
  world = createSigningWorld();
  if (!noProgram('ssh-keygen')) world.allow('alice');
  world.commit({ 'apps/a.yaml': 'a: 1\n' });
});
afterEach(() => world.remove());

describe.skipIf(noProgram('ssh-keygen'))('the commit that brought an approval', () => {
  it('counts if an approval signer has signed it, whatever comes after it', async () => {
    world.commit({ [FILE]: approval() }, { ssh: 'alice' });
    expect(await world.verdict(FILE)).toEqual(by('alice'));
    world.commit({ 'apps/a.yaml': 'a: 2\n' });
    world.commit({ 'apps/b.yaml': 'b: 1\n' }, { ssh: 'eve' });
    expect(await world.verdict(FILE)).toEqual(by('alice'));
  });

  it('does not count without a signature, also if its author has the name of a signer', async () => {
    world.git('config', 'user.name', 'alice');
    world.git('config', 'user.email', 'alice@example.com');
    world.commit({ [FILE]: approval() });
    expect(await world.verdict(FILE)).toEqual(refused(NO_SIGNATURE));
    // Later commits of a signer change nothing of it.
    world.commit({ 'apps/a.yaml': 'a: 2\n' }, { ssh: 'alice' });
    expect(await world.verdict(FILE)).toEqual(refused(NO_SIGNATURE));
  });

  it('does not count with the signature of another key', async () => {
    world.commit({ [FILE]: approval() }, { ssh: 'eve' });
    expect(await world.verdict(FILE)).toEqual(refused(OTHER_KEY));
  });

  it('does not count with a key that the repository itself names', async () => {
    const line = `eve@example.com ${readFileSync(`${world.sshKey('eve')}.pub`, 'utf8')}`;
    world.git('config', 'gpg.ssh.allowedSignersFile', join(world.work, 'approvers'));
    const named = { approvers: line, '.git-allowed-signers': line, '.gitconfig': '[gpg "ssh"]\n  program = true\n' };
    world.commit({ ...named, [FILE]: approval() }, { ssh: 'eve' });
    expect(await world.verdict(FILE)).toEqual(refused(OTHER_KEY));
  });

  it('does not count with a key that was not valid any more at its date', async () => {
    world.allow('bob', 'valid-before="20240101"');
    world.commit({ [FILE]: approval() }, { ssh: 'bob' });
    expect(await world.verdict(FILE)).toEqual(refused(OTHER_KEY));
  });

  it('does not count any more after the key was withdrawn, whatever date it states', async () => {
    world.commit({ [FILE]: approval() }, { ssh: 'alice', date: '2020-01-01T00:00:00Z' });
    expect(await world.verdict(FILE)).toEqual(by('alice'));
    world.allowNone();
    world.allow('bob');
    expect(await world.verdict(FILE)).toEqual(refused(OTHER_KEY));
  });

  it('does not count with a signature that was made for another purpose', async () => {
    world.commit({ [FILE]: approval() });
    world.forge('alice', 'file');
    expect(await world.verdict(FILE)).toEqual(refused(/has a signature that does not belong to it/));
    world.commit({ [FILE]: approval('b') });
    world.forge('alice', 'git');
    expect(await world.verdict(FILE)).toEqual(by('alice'));
  });

  it('does not count with a key that is allowed for another purpose only', async () => {
    world.allow('bob', 'namespaces="file"');
    world.commit({ [FILE]: approval() }, { ssh: 'bob' });
    expect(await world.verdict(FILE)).toEqual(refused(/or whose key is not for commits/));
  });

  it('does not count with the signature of another commit', async () => {
    world.commit({ [FILE]: approval() });
    world.forge('alice', 'git', (commit) => commit.replace('Change', 'Another change'));
    expect(await world.verdict(FILE)).toEqual(refused(/has a signature that does not belong to it/));
  });
});

describe.skipIf(noProgram('ssh-keygen'))('among several commits of the history', () => {
  it('the last one that changed the file counts', async () => {
    world.commit({ [FILE]: approval('a') }, { ssh: 'alice' });
    world.commit({ [FILE]: approval('b') });
    expect(await world.verdict(FILE)).toEqual(refused(NO_SIGNATURE));
    // The content that was signed once, brought again without a signature.
    world.commit({ [FILE]: approval('a') });
    expect(await world.verdict(FILE)).toEqual(refused(NO_SIGNATURE));
    world.commit({ [FILE]: null });
    world.commit({ [FILE]: approval('a') }, { ssh: 'alice' });
    expect(await world.verdict(FILE)).toEqual(by('alice'));
  });

  it('a moved file counts as changed', async () => {
    world.commit({ [FILE]: approval() }, { ssh: 'alice' });
    world.commit({ [FILE]: null, 'approvals/yours.yaml': approval() });
    expect(await world.verdict('approvals/yours.yaml')).toEqual(refused(NO_SIGNATURE));
  });

  it('a merge counts for nothing that it takes from one of its parents', async () => {
    world.git('checkout', '--quiet', '-b', 'signed');
    world.commit({ [FILE]: approval() }, { ssh: 'alice' });
    world.git('checkout', '--quiet', '-b', 'unsigned', 'main');
    world.commit({ 'approvals/eve.yaml': approval('e') });
    world.git('checkout', '--quiet', 'main');
    world.commit({ 'apps/c.yaml': 'c: 1\n' });
    world.git('merge', '--quiet', '--no-edit', '--no-gpg-sign', 'signed');
    expect(await world.verdict(FILE)).toEqual(by('alice'));
    const signing = ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${world.sshKey('alice')}`];
    world.git(...signing, 'merge', '--quiet', '--no-edit', '--gpg-sign', 'unsigned');
    expect(await world.verdict('approvals/eve.yaml')).toEqual(refused(NO_SIGNATURE));
    expect(await world.verdict(FILE)).toEqual(by('alice'));
  });

  it('a squash or a rebase is a commit of its own', async () => {
    world.git('checkout', '--quiet', '-b', 'topic');
    world.commit({ [FILE]: approval() }, { ssh: 'alice' });
    world.git('checkout', '--quiet', 'main');
    world.git('merge', '--quiet', '--squash', 'topic');
    world.commit({});
    expect(await world.verdict(FILE)).toEqual(refused(NO_SIGNATURE));
  });

  it.each(['a commit', 'a merge'])('no merge brings back what was signed once and then removed by %s', async (how) => {
    const signed = world.commit({ [FILE]: approval() }, { ssh: 'alice' });
    const mergeOf = (tree: string, ...parents: readonly string[]): string =>
      world.git('commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-m', 'Merge');
    if (how === 'a commit') world.commit({ [FILE]: null });
    else {
      world.git('checkout', '--quiet', '-b', 'other');
      const other = world.commit({ 'apps/z.yaml': 'z: 1\n' });
      world.git('reset', '--quiet', '--hard', mergeOf(world.git('rev-parse', 'HEAD~2^{tree}'), signed, other));
      world.git('branch', '--quiet', '--force', 'main', 'HEAD');
      world.git('checkout', '--quiet', 'main');
    }
    const removed = world.git('rev-parse', 'HEAD');
    const tree = world.git('rev-parse', `${signed}^{tree}`);
    for (const parents of [
      [removed, signed],
      [signed, removed],
    ]) {
      world.git('reset', '--quiet', '--hard', mergeOf(tree, ...parents));
      expect(await world.verdict(FILE)).toEqual({ problem: 'no commit of the branch has given it this content' });
    }
  });
});

describe.skipIf(noProgram('ssh-keygen', 'gpg'))('signatures of OpenPGP', () => {
  it('count if the keys of the RelayConfig have made them, and no other keys', async () => {
    world.openpgpKey('carol');
    world.openpgpKey('mallory');
    const openpgpKeysFile = world.exported('carol');
    world.commit({ [FILE]: approval() }, { openpgp: 'carol' });
    expect(await world.verdict(FILE, { openpgpKeysFile })).toEqual({ signer: 'carol <carol@example.com>' });
    // With signers of SSH keys only, no keyring of the machine counts.
    expect(await world.verdict(FILE)).toHaveProperty('problem');
    world.commit({ [FILE]: approval('b') }, { openpgp: 'mallory' });
    expect(await world.verdict(FILE, { openpgpKeysFile })).toEqual(refused(OTHER_KEY));
    world.commit({ [FILE]: approval('c') }, { ssh: 'alice' });
    expect(await world.verdict(FILE, { openpgpKeysFile })).toHaveProperty('problem');
    // The next start of the server, after the key was taken out of the file.
    world.commit({ [FILE]: approval('d') }, { openpgp: 'carol' });
    expect(await world.verdict(FILE, { openpgpKeysFile: world.exported('mallory') })).toEqual(refused(OTHER_KEY));
  });
});

describe.skipIf(noProgram('ssh-keygen'))('the commits that brought several approvals', () => {
  it('are found each for its own file, also for names that git quotes or that look like an id', async () => {
    world.allow('bob');
    const files = ['approvals/ä "b".yaml', 'approvals/two\nlines.yaml', 'a'.repeat(40), 'approvals/unsigned.yaml'];
    const [quoted = '', lines = '', id = '', unsigned = ''] = files;
    world.commit({ [quoted]: approval('a'), [lines]: approval('b') }, { ssh: 'alice' });
    world.commit({ [id]: approval('c'), [unsigned]: approval('d') });
    world.commit({ [id]: approval('e') }, { ssh: 'bob' });
    world.git('checkout', '--quiet', '-b', 'other', 'HEAD~2');
    world.commit({ [lines]: approval('f') }, { ssh: 'eve' });
    world.git('checkout', '--quiet', 'main');
    world.git('merge', '--quiet', '--no-gpg-sign', '-m', 'Merge', 'other');
    expect(await world.verdicts([...files, 'approvals/missing.yaml'])).toEqual([
      by('alice'),
      refused(OTHER_KEY),
      by('bob'),
      refused(NO_SIGNATURE),
      refused(/no commit of the branch has given it this content/),
    ]);
  });
});

describe.skipIf(noProgram('ssh-keygen'))('signers that cannot be verified', () => {
  const FIELD = 'bounds\\.approvalSigners\\.';
  it.each([
    ['', /names no signer/],
    ['# a comment\n', /names no signer/],
    ['alice@example.com\n', /approvers:1 has no SSH public key/],
  ])('stop the start of the server: %j', async (text, problem) => {
    writeFileSync(world.allowedSignersFile, text);
    await expect(world.verdict(FILE)).rejects.toThrow(new RegExp(`^${FIELD}allowedSignersFile: .*${problem.source}`));
  });

  it('stop it if a file is missing or holds no key', async () => {
    const missing = join(world.sandbox.path, 'missing');
    await expect(world.verdict(FILE, { allowedSignersFile: missing })).rejects.toThrow(/missing cannot be read/);
    await expect(world.verdict(FILE, { openpgpKeysFile: missing })).rejects.toThrow(/missing cannot be read/);
    const { allowedSignersFile: noKeys } = world;
    await expect(world.verdict(FILE, { openpgpKeysFile: noKeys })).rejects.toThrow(/holds no OpenPGP public key/);
  });

  it('stop it if the program is missing', async () => {
    const path = process.env.PATH;
    process.env.PATH = '/nonexistent';
    try {
      await expect(world.verdict(FILE)).rejects.toThrow(/the program ssh-keygen, .* is not on the PATH/);
    } finally {
      process.env.PATH = path;
    }
  });
});
