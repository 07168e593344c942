import { createSmartHttpServer } from '../../../scripts/local/smart-http-server.ts';
import { createNativeGitRepo } from '../../../src/adapters/git/native-git-repo.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { must } from '../../../src/model/values/result.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { describeGitRepo } from './git-repo-contract.ts';
import type { GitRepoSubject } from './git-subject.ts';

const environment = { PATH: process.env.PATH, FLEET_PASSWORD: 'pass:word' };

const repo: GitRepoSubject['repo'] = (options) =>
  must(createNativeGitRepo({ clock: createSystemClock(), log: createKeptLog(), environment }, options));

describeGitRepo({
  cannot: new Set(),
  name: 'native git, over smart HTTP with a password',
  open: async (box) => {
    const server = createSmartHttpServer({
      root: box.served,
      searchPath: process.env.PATH ?? '',
      authenticate: ({ username, password }) => username === 'ada' && password === 'pass:word',
    });
    const { url } = await server.start();
    return { urlOf: (name) => `${url}/${name}.git`, close: server.stop };
  },
  repo: (options) =>
    must(
      createNativeGitRepo(
        { clock: createSystemClock(), log: createKeptLog(), environment },
        {
          ...options,
          credentials: async () => ({ username: 'ada', secret: environment.FLEET_PASSWORD ?? '' }),
        },
      ),
    ),
});

describeGitRepo({
  cannot: new Set(),
  name: 'native git, from a local path',
  open: async (box) => ({ urlOf: (name) => `${box.served}/${name}.git`, close: async () => undefined }),
  repo,
});

describeGitRepo({
  cannot: new Set(),
  name: 'native git, from a file:// address',
  open: async (box) => ({ urlOf: (name) => `file://${box.served}/${name}.git`, close: async () => undefined }),
  repo,
});
