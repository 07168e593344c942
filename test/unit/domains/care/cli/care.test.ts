import { describe, expect, it } from 'vitest';
import { careCommand } from '../../../../../src/domains/care/cli/care.ts';
import { diagnosticOf } from '../../../../../src/model/fleet/diagnostic.ts';
import { runCli } from '../../../../support/cli.ts';

const CONFIGURATION = {
  kind: 'ValidatingWebhookConfiguration',
  name: 'policy',
  at: 'hooks/policy.yaml:1',
  webhooks: [
    { name: 'nodes.example.com', problematic: true },
    { name: 'web.example.com', problematic: false },
  ],
  changed: true,
  remediated: { kind: 'ValidatingWebhookConfiguration' },
};
const UNREADABLE = diagnosticOf({
  severity: 'error',
  reason: 'FileUnreadable',
  message: 'cannot be read: there is no such file or folder',
  at: { path: 'none' },
});

const webhooks = (args: readonly string[], answer: object) =>
  runCli(['care', 'webhooks', ...args], {}, (context) =>
    careCommand(context, async () => ({ configurations: [], diagnostics: [], ...answer })),
  );

describe('care webhooks', () => {
  it('prints JSON as the configurations are', async () => {
    const { code, out } = await webhooks(['hooks', '-o', 'json'], { configurations: [CONFIGURATION] });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual([CONFIGURATION]);
  });

  it('prints a table of webhooks', async () => {
    const { out } = await webhooks([], { configurations: [CONFIGURATION] });
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['KIND', 'NAME', 'WEBHOOK', 'PROBLEMATIC', 'REMEDIATOR', 'AT'],
      ['ValidatingWebhookConfiguration', 'policy', 'nodes.example.com', 'yes', 'changed', 'hooks/policy.yaml:1'],
      ['ValidatingWebhookConfiguration', 'policy', 'web.example.com', 'no', 'changed', 'hooks/policy.yaml:1'],
      [''],
    ]);
    expect((await webhooks([], {})).out).toBe('no webhooks\n');
  });

  it('names files that cannot be read, and exits with 1', async () => {
    const { code, err } = await webhooks(['none'], { diagnostics: [UNREADABLE] });
    expect(code).toBe(1);
    expect(err).toBe('none: error FR1001: cannot be read: there is no such file or folder\n');
  });
});

const codes = (text: string, ...args: readonly string[]) =>
  runCli(['care', 'codes', ...args], { readStdin: async () => new TextEncoder().encode(text) });

describe('care codes', () => {
  it('has an element for each line', async () => {
    const { code, out } = await codes('cannot get hosted zones: Throttling\r\n\nfoo\n', '-o', 'json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual([
      {
        text: 'cannot get hosted zones: Throttling',
        codes: ['ERR_INFRA_RATE_LIMITS_EXCEEDED'],
        userError: false,
        retryable: false,
      },
      { text: '', codes: [], userError: false, retryable: true },
      { text: 'foo', codes: [], userError: false, retryable: true },
    ]);
    expect((await codes('', '-o', 'json')).out).toBe('[]\n');
    expect((await codes('last line without end: AccessDenied')).out).toMatch(
      /^CODES .*\nERR_INFRA_UNAUTHORIZED {3}yes {10}no {10}last line without end: AccessDenied\n$/,
    );
  });

  it('says what it did not read of a long line', async () => {
    const { out } = await codes(`Throttling${'x'.repeat(3000)} AccessDenied`, '-o', 'json');
    expect(JSON.parse(out)).toEqual([
      {
        text: `Throttling${'x'.repeat(2038)}`,
        codes: ['ERR_INFRA_RATE_LIMITS_EXCEEDED'],
        userError: false,
        retryable: false,
        charactersCut: 975,
      },
    ]);
  });
});
