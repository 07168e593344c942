import { describe, expect, it } from 'vitest';
import { probeProxyCommand } from '../../../../../src/domains/health/cli/probe-proxy.ts';
import { runCli } from '../../../../support/cli.ts';

async function asked(args: readonly string[]) {
  const calls: unknown[] = [];
  const run = await runCli(['probe-proxy', ...args], {}, (context) =>
    probeProxyCommand(context, async (options) => {
      calls.push(options);
      return 0;
    }),
  );
  return { ...run, options: calls[0] };
}

describe('options of probe-proxy', () => {
  it.each([
    [['--pod-ip', '10.0.0.1'], { port: 9001, podIp: '10.0.0.1', logLevel: 'info' }],
    [
      ['--port=9100', '--pod-ip=fd00::1', '--source-address=::6', '--probes=p.json', '--virtual-probes-port=9000'],
      { port: 9100, podIp: 'fd00::1', sourceAddress: '::6', probes: 'p.json', virtualProbesPort: 9000 },
    ],
    [
      ['--pod-ip=10.0.0.1', '--virtual-probes-port=9000', '--probes=p.json'],
      { port: undefined, virtualProbesPort: 9000 },
    ],
  ])('%j', async (args, options) => {
    const { code, options: given } = await asked(args);
    expect(code).toBe(0);
    expect(given).toMatchObject(options);
  });

  it.each([
    [[], '--pod-ip'],
    [['--pod-ip', 'localhost'], 'must be an IP address'],
    [['--pod-ip', '10.0.0.1', '--port', '70000'], '0 to 65535'],
    [['--pod-ip', '10.0.0.1', '--virtual-probes-port', '9000'], 'needs --probes'],
    [['--pod-ip', '10.0.0.1', '--source-address', '::6'], 'both be IPv4 or both IPv6'],
  ])('%j is a wrong command line', async (args, message) => {
    const { code, err } = await asked(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
