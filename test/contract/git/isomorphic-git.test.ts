import { createSmartHttpServer } from '../../../scripts/local/smart-http-server.ts';
import { must } from '../../../src/model/values/result.ts';
import { isomorphicRepo } from '../../support/isomorphic-repo.ts';
import { describeGitRepo } from './git-repo-contract.ts';

describeGitRepo({
  name: 'isomorphic-git, over smart HTTP with a password',
  cannot: new Set(['sha256']),
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
    must(isomorphicRepo({ ...options, credentials: async () => ({ username: 'ada', secret: 'pass:word' }) })),
});
