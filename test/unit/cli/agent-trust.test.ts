import { describe, expect, test } from 'vitest';
import { recordingRoots, runCli } from '../../support/cli.ts';

const AGENT = ['agent', '--cluster', 'east', '--server', 'a:1', '--directory', 'd'];
const PAIR = ['--cert-file', 'tls.crt', '--key-file', 'tls.key'];

describe('the credentials of an agent', () => {
  test('the token may come from the environment, by the name of Gloo`s setups', async () => {
    const roots = recordingRoots();
    expect(await runCli(AGENT, { roots, env: { RELAY_TOKEN: 'frt1_secret' } })).toMatchObject({ code: 0 });
    expect(roots.calls).toHaveLength(1);
    expect(JSON.stringify(roots.calls), 'the token itself is no option').not.toContain('frt1_secret');
    expect(await runCli(AGENT, { roots, env: { RELAY_TOKEN: ' ' } })).toMatchObject({ code: 2 });
  });

  test('a certificate that was brought along needs no token', async () => {
    const roots = recordingRoots();
    await runCli([...AGENT, ...PAIR], { roots });
    expect(roots.calls).toMatchObject([['agent', { certificate: { certFile: 'tls.crt', keyFile: 'tls.key' } }]]);
  });

  test.each([
    [['--cert-file', 'tls.crt'], '--cert-file and --key-file go together'],
    [['--key-file', 'tls.key', '--token-file', 't'], '--cert-file and --key-file go together'],
    [[...PAIR, '--insecure'], '--cert-file and --insecure do not go together'],
  ])('%j is refused', async (args, message) => {
    const roots = recordingRoots();
    const { code, err } = await runCli([...AGENT, ...args], { roots });
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(roots.calls).toEqual([]);
  });

  test.each(['true', '1', 'yes', 'TRUE'])('the server is never left unchecked: %s', async (value) => {
    const roots = recordingRoots();
    const env = { RELAY_DISABLE_SERVER_CERTIFICATE_VALIDATION: value };
    const { code, err } = await runCli([...AGENT, '--token-file', 't'], { roots, env });
    expect(code).toBe(2);
    expect(err).toContain('RELAY_DISABLE_SERVER_CERTIFICATE_VALIDATION is set');
    expect(roots.calls).toEqual([]);
  });

  test.each(['', 'false', 'False'])('asking for nothing with %j is no problem', async (value) => {
    const roots = recordingRoots();
    const env = { RELAY_DISABLE_SERVER_CERTIFICATE_VALIDATION: value };
    expect(await runCli([...AGENT, '--token-file', 't'], { roots, env })).toMatchObject({ code: 0 });
  });
});
