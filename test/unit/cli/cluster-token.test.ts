import { afterEach, describe, expect, test } from 'vitest';
import { CliError, EXIT } from '../../../src/cli/exit-codes.ts';
import { type CliRun, recordingRoots, runCli } from '../../support/cli.ts';
import { type RunningServer, runServer } from '../../support/running-server.ts';
import { fakeApi } from '../../support/server-api.ts';

const RENEW = ['cluster', 'token', 'east', '--renew'];
let server: RunningServer | undefined;

afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function renew(args: readonly string[], roots = recordingRoots(), api = fakeApi()) {
  server = await runServer({ api }, {});
  const env = { FLEETRELAY_API: server.url, FLEETRELAY_USER: 'ann' };
  const run: CliRun = await runCli([...RENEW, ...args], { roots, env });
  return { ...run, asked: api.calls, roots: roots.calls };
}

describe('cluster token --renew', () => {
  test('tells the server, and prints the new token alone', async () => {
    const { code, out, err, asked, roots } = await renew(['--data-dir', 'd']);
    expect([code, out]).toEqual([0, 'frt1_token\n']);
    expect(err).toBe(
      'every earlier token of east is invalid now; an agent that has its certificate is not affected.\n',
    );
    expect(asked).toEqual(['renew token east by ann']);
    expect(roots.at(-1)).toMatchObject(['token', { subject: 'east', dataDir: 'd', generation: 1_780_000_000 }]);
  });

  test('without the secret names the command that prints the new one', async () => {
    const { code, out, roots } = await renew([]);
    expect(code).toBe(0);
    expect(out).toContain('fleetrelay cluster token east --relay-secret-file FILE --generation 1780000000');
    expect(roots).toEqual([]);
    await server?.stop();
    const json = await renew(['-o', 'json']);
    expect(JSON.parse(json.out)).toEqual({ cluster: 'east', generation: 1_780_000_000, token: null });
  });

  test('renews nothing if the new token could not be printed', async () => {
    const roots = recordingRoots({
      token: async () => {
        throw new CliError(EXIT.usage, 'the relay secret is missing');
      },
    });
    const { code, asked, err } = await renew(['--relay-secret-file', 's'], roots);
    expect([code, asked]).toEqual([2, []]);
    expect(err).toContain('the relay secret is missing');
  });

  test('of an unknown cluster exits with 5', async () => {
    server = await runServer({ api: fakeApi() }, {});
    const env = { FLEETRELAY_API: server.url };
    expect(await runCli(['cluster', 'token', 'nowhere', '--renew'], { env })).toMatchObject({
      code: EXIT.notFound,
      err: expect.stringContaining('there is no cluster nowhere'),
    });
  });

  test('takes no generation, which the server gives', async () => {
    expect((await runCli([...RENEW, '--generation', '1'])).code).toBe(2);
  });
});

describe('dataplane token', () => {
  test('prints the token of one data plane, and its renewal ends the earlier ones', async () => {
    const roots = recordingRoots();
    const printed = await runCli(['dataplane', 'token', 'default/db-07', '--data-dir', 'd'], { roots });
    expect([printed.code, printed.out]).toEqual([0, 'frt1_token\n']);
    expect(roots.calls).toMatchObject([['token', { subject: 'dataplane/default/db-07', dataDir: 'd' }]]);

    const api = fakeApi();
    server = await runServer({ api }, {});
    const env = { FLEETRELAY_API: server.url, FLEETRELAY_USER: 'ann' };
    const renewed = await runCli(['dataplane', 'token', 'default/db-07', '--renew', '-o', 'json'], { roots, env });
    expect(JSON.parse(renewed.out)).toEqual({
      ...{ mesh: 'default', name: 'db-07' },
      ...{ generation: 1_780_000_000, token: null },
    });
    expect(api.calls).toEqual(['renew token default/db-07 by ann']);
    const unknown = await runCli(['dataplane', 'token', 'default/gone', '--renew'], { roots, env });
    expect(unknown).toMatchObject({ code: EXIT.notFound, err: expect.stringContaining('default/gone') });
  });

  test('takes MESH/NAME only', async () => {
    for (const name of ['db-07', 'default/', 'default/DB', '/db-07']) {
      expect(await runCli(['dataplane', 'token', name, '--data-dir', 'd'])).toMatchObject({ code: EXIT.usage });
    }
  });
});

describe('cluster token', () => {
  const print = (name: string, env: Record<string, string>): Promise<CliRun> =>
    runCli(['cluster', 'token', name, '--data-dir', 'd'], { roots: recordingRoots(), env });

  test('of a cluster that the server does not know is printed with a warning', async () => {
    server = await runServer({ api: fakeApi() }, {});
    const env = { FLEETRELAY_API: server.url };
    expect(await print('eat', env)).toEqual({
      ...{ code: 0, out: 'frt1_token\n' },
      err: `warning: the server at ${server.url} knows no cluster eat, and lets its agent in once it is declared; did you mean east?\n`,
    });
    expect(await print('east', env)).toMatchObject({ code: 0, err: '' });
  });

  test('is printed without a word where no server answers', async () => {
    expect(await print('eat', { FLEETRELAY_API: 'http://127.0.0.1:1' })).toMatchObject({ code: 0, err: '' });
  });
});
