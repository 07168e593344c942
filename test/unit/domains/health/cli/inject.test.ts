import { describe, expect, it } from 'vitest';
import { injectCommand } from '../../../../../src/domains/health/cli/inject.ts';
import type { Injection } from '../../../../../src/domains/health/compose/inject/inject.ts';
import { runCli } from '../../../../support/cli.ts';

const DEFAULTS = { applicationProbeProxyPort: 9001, virtualProbesEnabled: false, virtualProbesPort: 9000 };
const PREFIX = 'KUMA_RUNTIME_KUBERNETES_';
const ALL = {
  [`${PREFIX}APPLICATION_PROBE_PROXY_PORT`]: '0',
  [`${PREFIX}VIRTUAL_PROBES_ENABLED`]: 'true',
  [`${PREFIX}VIRTUAL_PROBES_PORT`]: '9100',
};

async function asked(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const requests: unknown[] = [];
  const command = ['inject', '-f', 'x.yaml', ...args];
  const run = await runCli(command, { env }, (context) =>
    injectCommand(context, async (request) => {
      requests.push(request);
      return { text: '', diagnostics: [], findings: [] };
    }),
  );
  return { ...run, request: requests[0] };
}

describe('settings of inject', () => {
  it.each([
    ['defaults', [], {}, DEFAULTS],
    ['variables', [], ALL, { applicationProbeProxyPort: 0, virtualProbesEnabled: true, virtualProbesPort: 9100 }],
    ['empty variables', [], { [`${PREFIX}VIRTUAL_PROBES_ENABLED`]: '' }, DEFAULTS],
    [
      'flags before variables',
      ['--application-probe-proxy-port', '9002', '--virtual-probes-enabled=false', '--virtual-probes-port=9003'],
      ALL,
      { applicationProbeProxyPort: 9002, virtualProbesEnabled: false, virtualProbesPort: 9003 },
    ],
    ['a flag without value', ['--virtual-probes-enabled'], {}, { ...DEFAULTS, virtualProbesEnabled: true }],
    ['port 0 as a flag', ['--application-probe-proxy-port=0'], {}, { ...DEFAULTS, applicationProbeProxyPort: 0 }],
  ])('%s', async (_, args, env, settings) => {
    const { code, request } = await asked(args, env);
    expect(code).toBe(0);
    expect(request).toMatchObject({ file: 'x.yaml', settings, container: { image: 'fleetrelay:1.2.3', native: true } });
  });

  it.each([
    [['--native-sidecar=false'], { native: false }],
    [['--native-sidecar'], { native: true }],
    [['--image', 'registry.example/f:2'], { image: 'registry.example/f:2' }],
  ])('%j', async (args, container) => {
    expect((await asked(args)).request).toMatchObject({ container });
  });

  it.each([
    [['--application-probe-proxy-port=65536'], {}, '0 to 65535'],
    [['--virtual-probes-port=0'], {}, '1 to 65535'],
    [['--virtual-probes-enabled=maybe'], {}, 'true or false'],
    [[], { [`${PREFIX}VIRTUAL_PROBES_ENABLED`]: 'maybe' }, 'VIRTUAL_PROBES_ENABLED must be true or false'],
    [[], { [`${PREFIX}APPLICATION_PROBE_PROXY_PORT`]: '-1' }, 'APPLICATION_PROBE_PROXY_PORT must be a port, or 0'],
    [[], { [`${PREFIX}VIRTUAL_PROBES_PORT`]: '0' }, 'VIRTUAL_PROBES_PORT must be a port'],
  ])('%j with %j is a wrong command line', async (args, env, message) => {
    const { code, err } = await asked(args, env);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  it('needs a file', async () => {
    expect(await runCli(['inject'])).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--filename') });
  });
});

it('manifests go to stdout, warnings to stderr', async () => {
  const finding = { severity: 'warning', message: 'Pod a: odd', at: { path: 'x.yaml', line: 3, column: 5 } } as const;
  const answer: Injection = { text: 'kind: Pod\n', diagnostics: [], findings: [finding] };
  expect(await runCli(['inject', '-f', 'x.yaml'], {}, (context) => injectCommand(context, async () => answer))).toEqual(
    {
      code: 0,
      out: 'kind: Pod\n',
      err: 'x.yaml:3:5: warning: Pod a: odd\n',
    },
  );
});

it('a refusal goes to stderr, and the exit code is 1', async () => {
  const finding = { severity: 'error', message: 'Pod a: no', at: { path: '-', line: 1, column: 1 } } as const;
  const answer: Injection = { text: undefined, diagnostics: [], findings: [finding] };
  expect(await runCli(['inject', '-f', '-'], {}, (context) => injectCommand(context, async () => answer))).toEqual({
    code: 1,
    out: '',
    err: '-:1:1: error: Pod a: no\n',
  });
});
