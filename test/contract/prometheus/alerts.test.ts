import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noProgram } from '../../support/programs.ts';
import { promtool } from '../../support/promtool.ts';
import { ALERT_CASES, type AlertCase, type Series } from './alert-cases.ts';
import { type AlertRule, RULE_FILE, readAlerts } from './rules.ts';

const ALERTS = readAlerts();

test('every alert says how bad it is, what it is, and what to do', () => {
  for (const { alert, labels, annotations } of ALERTS) {
    expect(alert).toMatch(/^Fleetrelay[A-Z]/);
    expect(['critical', 'warning'], alert).toContain(labels.severity);
    for (const part of ['summary', 'description', 'action']) expect(annotations[part], alert).toMatch(/\S{3}/);
  }
  expect(Object.keys(ALERT_CASES).sort()).toEqual(ALERTS.map(({ alert }) => alert).sort());
});

describe.skipIf(noProgram('promtool'))('alerts, by promtool', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fleetrelay-alerts-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const evaluate = (name: string, tests: readonly object[]): Promise<string> => {
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify({ rule_files: [RULE_FILE], evaluation_interval: '1m', tests }));
    return promtool('test', 'rules', file);
  };

  test('the rules are rules', async () => {
    expect(await promtool('check', 'rules', RULE_FILE)).toContain(`${ALERTS.length} rules found`);
  });

  test.for(ALERTS)('$alert fires when it should, not before its time, and not for what looks like it', async (rule) => {
    await evaluate(rule.alert, testsOf(rule, caseOf(rule.alert)));
  });

  test('what people read names the thing', async () => {
    const { annotations } = ALERTS.find(({ alert }) => alert === 'FleetrelaySafeModeActive') ?? missing();
    const shown = Object.entries(annotations).map(([name, text]) => [
      name,
      text.replaceAll('{{ $labels.cluster }}', 'west'),
    ]);
    const alert = {
      exp_labels: { severity: 'warning', namespace: 'n', job: 'j', cluster: 'west' },
      exp_annotations: Object.fromEntries(shown),
    };
    expect(alert.exp_annotations.action).toContain('west');
    await evaluate('annotations', [
      {
        ...world(caseOf('FleetrelaySafeModeActive').fires),
        alert_rule_test: [{ eval_time: '30m', alertname: 'FleetrelaySafeModeActive', exp_alerts: [alert] }],
      },
    ]);
  });
});

/** Long enough for every alert. */
const LATE = 45;

function testsOf(
  { alert, for: patience = '0m' }: AlertRule,
  { fires, begins = 0, labels, silent }: AlertCase,
): object[] {
  const minutes = minutesOf(patience);
  // Some are about an hour or more.
  const late = Math.max(LATE, begins + minutes + 5);
  const early = begins + minutes - 1;
  const firing = `ALERTS{alertname="${alert}",alertstate="firing"`;
  const named = Object.entries(labels).map(([name, value]) => `,${name}="${value}"`);
  const counts = (at: number, expr: string, value: number, end = '}') => ({
    expr: `count(${expr}${end}) or vector(0)`,
    eval_time: `${at}m`,
    exp_samples: [{ labels: '{}', value }],
  });
  return [
    {
      ...world(fires),
      promql_expr_test: [
        counts(late, firing, 1),
        counts(late, `${firing}${named.join('')}`, 1),
        ...(minutes === 0 ? [] : [counts(early, firing, 0)]),
      ],
    },
    // At no time, however short.
    {
      ...world(silent),
      promql_expr_test: [counts(late, `count_over_time(${firing}`, 0, `}[${late}m])`)],
    },
  ];
}

function world(series: readonly Series[]): object {
  return { interval: '1m', input_series: series.map(([name, values]) => ({ series: name, values })) };
}

function minutesOf(duration: string): number {
  const [, count, unit] = /^(\d+)([mh])$/.exec(duration) ?? missing();
  return Number(count) * (unit === 'h' ? 60 : 1);
}

function caseOf(alert: string): AlertCase {
  return ALERT_CASES[alert] ?? missing();
}

function missing(): never {
  throw new Error('this is not there');
}
