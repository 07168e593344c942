import { expect, test } from 'vitest';
import { createReportBook } from '../../../src/agent/discovery/reports.ts';
import { API_SERVER_PROBE } from '../../../src/domains/care/model/reports.ts';
import type { KindState } from '../../../src/model/agent/agent.ts';
import { agentReportKind, agentReportObject } from '../../../src/model/agent/agent-report.ts';

const kind = (name: string, state: KindState['state'] = 'complete'): KindState => ({ kind: name, state, message: '' });
const PROBE = agentReportKind(API_SERVER_PROBE);
const report = (code: number, state?: KindState['state']) => ({
  objects: [agentReportObject(API_SERVER_PROBE, { code })],
  kinds: [kind(PROBE, state)],
});

test('the list of kinds stays the same list while neither part of it changes', () => {
  const book = createReportBook();
  const ofCluster = [kind('/Pod')];
  expect(book.withKinds(ofCluster)).toBe(ofCluster);
  book.take('care', report(200));
  const joined = book.withKinds(ofCluster);
  expect(joined).toEqual([kind('/Pod'), kind(PROBE)]);
  book.take('care', report(503));
  expect(book.withKinds(ofCluster)).toBe(joined);
  book.take('care', report(503, 'unknown'));
  expect(book.withKinds(ofCluster)).toEqual([kind('/Pod'), kind(PROBE, 'unknown')]);
  expect(book.withKinds([kind('/Node')])).toEqual([kind('/Node'), kind(PROBE, 'unknown')]);
});
