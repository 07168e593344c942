import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createNativeGitRepo } from '../../../src/adapters/git/native-git-repo.ts';
import type { GitRepoOptions } from '../../../src/adapters/git/repo-options.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import type { SshFiles } from '../../../src/model/fleet/relay-config.ts';
import { must } from '../../../src/model/values/result.ts';
import type { GitRepo } from '../../../src/ports/git-repo.ts';
import { freePort } from '../../support/free-port.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createGitSandbox, type GitSandbox } from '../../support/git-sandbox.ts';
import { noProgram } from '../../support/programs.ts';
import { type Sshd, startSshd } from '../../support/sshd.ts';
import { describeGitRepo } from './git-repo-contract.ts';

const open = (options: GitRepoOptions, environment = {}): GitRepo =>
  must(
    createNativeGitRepo(
      { clock: createSystemClock(), log: createKeptLog(), environment: { PATH: process.env.PATH, ...environment } },
      options,
    ),
  );

describe.skipIf(noProgram('sshd', 'ssh-keygen'))('over SSH, with a real sshd:', () => {
  let sshd: Sshd;
  beforeAll(async () => {
    sshd = await startSshd();
  });
  afterAll(() => sshd.stop());

  describeGitRepo({
    cannot: new Set(),
    name: 'native git, over SSH with a deploy key',
    open: async (box) => ({
      urlOf: (name) => sshd.urlOf(join(box.served, `${name}.git`)),
      close: async () => undefined,
    }),
    repo: (options) => open({ ...options, ssh: sshd.files }),
  });

  describe('each connection', () => {
    let box: GitSandbox;
    let bare: string;
    let files: SshFiles;
    const opened: GitRepo[] = [];
    beforeEach(() => {
      box = createGitSandbox();
      bare = box.bare('fleet');
      box.push(bare, { 'a.yaml': 'a' });
      files = sshd.files;
      sshd.admit(files.keyFile);
    });
    afterEach(async () => {
      for (const repo of opened.splice(0)) await repo.close();
      box.remove();
    });
    const repo = (more: Partial<GitRepoOptions> = {}, environment = {}): GitRepo => {
      const directory = join(box.path, `copy-${opened.length}`);
      const options = { remote: sshd.urlOf(bare), branch: 'main', directory, ssh: files, ...more };
      const made = open(options, environment);
      opened.push(made);
      return made;
    };
    const failure = async (of: GitRepo): Promise<string> => {
      const outcome = await of.fetch();
      return outcome.type === 'failed' ? `${outcome.reason}: ${outcome.message}` : outcome.type;
    };
    const file = (name: string, text: string): string => {
      writeFileSync(join(box.path, name), text, { mode: 0o600 });
      return join(box.path, name);
    };

    test('uses the key as it is then: one that is replaced works without a restart', async () => {
      const keyFile = sshd.newKey('first');
      const followed = repo({ ssh: { ...files, keyFile } });
      expect(await failure(followed)).toMatch(/^Unauthorized: /);
      sshd.admit(keyFile);
      expect(await failure(followed)).toBe('fetched');
      rmSync(keyFile);
      const second = sshd.newKey('first');
      expect(await failure(followed)).toMatch(/^Unauthorized: /);
      sshd.admit(second);
      expect(await failure(followed)).toBe('fetched');
    });

    test('of a key that the host refuses says which it is, and that no agent is asked', async () => {
      const keyFile = sshd.newKey('refused');
      const other = { ssh: { ...files, keyFile } };
      const said = `Unauthorized: fetching main from ${sshd.urlOf(bare)} failed: the host refuses the key. Add its public half to the repository as a deploy key (the key is ${keyFile}`;
      expect(await failure(repo(other))).toBe(`${said})`);
      expect(await failure(repo(other, { SSH_AUTH_SOCK: '/tmp/agent' }))).toBe(
        `${said}; the ssh agent of the environment is never asked)`,
      );
    });

    test('of a host whose key has changed names file and line, and of an unknown host what to add', async () => {
      const changed = file('changed', `# hosts\n${sshd.knownHost(sshd.newKey('other'))}`);
      expect(await failure(repo({ ssh: { ...files, knownHostsFile: changed } }))).toMatch(
        `the host shows another key than line 2 of ${changed} has.`,
      );
      const empty = file('empty', '');
      expect(await failure(repo({ ssh: { ...files, knownHostsFile: empty } }))).toMatch(
        `the host [127.0.0.1]:${sshd.port} has no ED25519 key in the file of ssh.knownHostsFile.`,
      );
    });

    test('says before the try that a file is missing, open to others, no key, or has a passphrase', async () => {
      const said = (ssh: Partial<SshFiles>): Promise<string> => failure(repo({ ssh: { ...files, ...ssh } }));
      expect(await said({ knownHostsFile: '/nonexistent/hosts' })).toMatch(
        /the file of ssh.knownHostsFile cannot be read/,
      );
      expect(await said({ keyFile: '/nonexistent/key' })).toMatch(/the file of ssh.keyFile cannot be read/);
      const bare = sshd.newKey('readable');
      chmodSync(bare, 0o644);
      expect(await said({ keyFile: bare })).toMatch(
        `ssh refuses the key ${bare}, because others can read it (mode 0644)`,
      );
      expect(await said({ keyFile: file('text', 'no key') })).toMatch(/holds no private key/);
      expect(await said({ keyFile: sshd.newKey('locked', 'passphrase') })).toMatch(/has a passphrase/);
    });

    test('of a repository that is not there, and of a host that does not answer, says so', async () => {
      expect(await failure(repo({ remote: sshd.urlOf('/nonexistent.git') }))).toMatch(
        /^RepositoryNotFound: .*does not appear to be a git repository/,
      );
      const remote = `ssh://git@127.0.0.1:${await freePort()}/fleet.git`;
      expect(await failure(repo({ remote }))).toMatch(/^Unreachable: .*Connection refused/);
    });

    test('without an ssh program names the package', async () => {
      const bin = join(box.path, 'bin');
      box.git(box.path, 'init', '-q', bin);
      const git = join(bin, 'git');
      writeFileSync(git, `#!/bin/sh\nPATH=/nonexistent exec ${box.git(box.path, '--exec-path')}/git "$@"\n`);
      chmodSync(git, 0o755);
      expect(await failure(repo({}, { PATH: `${bin}:/nonexistent` }))).toMatch(
        /^LocalFailure: .*there is no ssh program on the PATH/,
      );
    });
  });
});
