import { expect, test } from 'vitest';
import { planMarkdown } from '../../../../src/model/plan/plan-markdown.ts';
import { EMPTY_PLAN } from '../../../support/cli.ts';

test('no text of a plan notifies an account, outside of code', () => {
  const change = { action: 'create', object: 'ConfigMap/@team', because: [] } as const;
  const text = planMarkdown({
    ...EMPTY_PLAN,
    clusters: [{ cluster: 'east', waits: 'suspended by @ada: ask @org/on-call', changes: [change] }],
    warnings: [{ reason: 'SelectsNoPod', message: 'no Pod of @org/team', clusters: [] }],
    notJudged: ['what @bob has'],
  });
  const outside = text.replaceAll(/```.*?```/gs, '').replaceAll(/`[^`]*`/g, '');
  expect(outside).toContain('on-call');
  expect(outside).toContain('bob');
  expect(outside).not.toMatch(/@[a-z]/);
});
