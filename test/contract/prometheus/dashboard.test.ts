import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { noProgram } from '../../support/programs.ts';
import { promtool } from '../../support/promtool.ts';
import { PROJECT } from './rules.ts';

interface Target {
  readonly expr: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly Target[];
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
}

const DASHBOARD = JSON.parse(readFileSync(join(PROJECT, 'deploy', 'grafana', 'fleetrelay.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
};
const expressions = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

test('panels have ids of their own and do not lie on each other', () => {
  const { panels } = DASHBOARD;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const taken = new Map<string, string>();
  for (const { title, gridPos } of panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(taken.get(`${x} ${y}`), title).toBeUndefined();
        taken.set(`${x} ${y}`, title);
      }
    }
  }
  expect(panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toContain('Safe mode by cluster');
});

test('every variable that an expression uses is there', () => {
  const names = new Set(DASHBOARD.templating.list.map(({ name }) => name));
  expect([...names]).toEqual(['datasource', 'namespace', 'job', 'cluster']);
  const used = expressions.flatMap((expr) => [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name));
  expect(used.length).toBeGreaterThan(50);
  for (const name of used) expect(names).toContain(name);
});

describe.skipIf(noProgram('promtool'))('the dashboard, by promtool', () => {
  test('every expression is one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-dashboard-'));
    try {
      const rules = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
      const file = join(folder, 'rules.json');
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
      expect(await promtool('check', 'rules', file)).toContain(`${expressions.length} rules found`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
