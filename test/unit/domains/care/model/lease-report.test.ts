import { describe, expect, it } from 'vitest';
import type { JudgedLeases } from '../../../../../src/domains/care/model/agent-tasks.ts';
import {
  leaseReportOf,
  leaseTimesOf,
  MOST_NAMED_LEASES,
  readLeaseReport,
} from '../../../../../src/domains/care/model/lease-report.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

const NODES: JudgedLeases = { namespace: 'kube-node-lease' };
const RENEWED = '2026-01-01T00:00:00.250000Z';
const AT = Date.parse('2026-01-01T00:00:00.250Z');

function lease(path: string, spec: JsonObject = { renewTime: RENEWED, leaseDurationSeconds: 40 }): JsonObject {
  const [namespace = '', name = ''] = path.split('/');
  return { metadata: { namespace, name }, spec };
}

describe('the report of Leases', () => {
  it('a Lease is valid up to its last millisecond, and expired afterwards', () => {
    const leases = [lease('kube-node-lease/a')];
    expect(leaseReportOf(leases, [NODES], AT + 40_000)).toEqual({ valid: ['kube-node-lease/a'], expired: [] });
    expect(leaseReportOf(leases, [NODES], AT + 40_001)).toEqual({
      valid: [],
      expired: [{ lease: 'kube-node-lease/a', renewTime: '2026-01-01T00:00:00Z' }],
    });
  });

  it('a rule with its own time does not read the duration of the Lease', () => {
    const rule = { ...NODES, staleAfterMillis: 60_000 };
    expect(leaseReportOf([lease('kube-node-lease/a')], [rule], AT + 60_000).valid).toHaveLength(1);
    expect(leaseReportOf([lease('kube-node-lease/a')], [rule], AT + 60_001).expired).toHaveLength(1);
  });

  it('a Lease without a renewal or without a duration has expired', () => {
    const leases = [
      lease('kube-node-lease/b', { renewTime: RENEWED }),
      lease('kube-node-lease/a', { leaseDurationSeconds: 40 }),
      lease('kube-node-lease/c', { leaseDurationSeconds: 40, renewTime: 'yesterday' }),
    ];
    expect(leaseReportOf(leases, [NODES], AT)).toEqual({
      valid: [],
      expired: [
        { lease: 'kube-node-lease/a' },
        { lease: 'kube-node-lease/b', renewTime: '2026-01-01T00:00:00Z' },
        { lease: 'kube-node-lease/c' },
      ],
    });
  });

  it('other Leases are not named, and the first rule that fits judges', () => {
    const judged: readonly JudgedLeases[] = [
      { namespace: 'kube-system', namePrefix: 'gardener-node-agent-', staleAfterMillis: 1_000 },
      { namespace: 'kube-system', namePrefix: 'gardener-', staleAfterMillis: 90_000 },
    ];
    const leases = ['gardener-node-agent-a', 'gardener-extension-heartbeat', 'kube-scheduler'].map((name) =>
      lease(`kube-system/${name}`),
    );
    expect(leaseReportOf([...leases, lease('default/gardener-x')], judged, AT + 2_000)).toEqual({
      valid: ['kube-system/gardener-extension-heartbeat'],
      expired: [{ lease: 'kube-system/gardener-node-agent-a', renewTime: '2026-01-01T00:00:00Z' }],
    });
  });

  it('the lists are sorted, so the order of the Leases does not matter', () => {
    const leases = ['c', 'a', 'b'].map((name) => lease(`kube-node-lease/${name}`));
    expect(leaseReportOf(leases, [NODES], AT)).toEqual(leaseReportOf([...leases].reverse(), [NODES], AT));
    expect(leaseReportOf(leases, [NODES], AT).valid).toEqual(['a', 'b', 'c'].map((name) => `kube-node-lease/${name}`));
  });

  it('names a bounded number of Leases, the expired ones first, and says how many more there are', () => {
    const valid = Array.from({ length: MOST_NAMED_LEASES }, (_, at) => lease(`kube-node-lease/v${at}`));
    const expired = lease('kube-node-lease/z', {});
    const report = leaseReportOf([...valid, expired], [NODES], AT);
    expect(report.expired).toEqual([{ lease: 'kube-node-lease/z' }]);
    expect(report.valid).toHaveLength(MOST_NAMED_LEASES - 1);
    expect(report.leftOut).toBe(1);
    const read = readLeaseReport({
      valid: [...report.valid, 'a/b'],
      expired: [{ lease: 'kube-node-lease/z' }],
      leftOut: 1,
    });
    expect([read.valid.length, read.expired.length, read.leftOut]).toEqual([MOST_NAMED_LEASES - 1, 1, 2]);
  });

  it('tells until when a Lease is valid', () => {
    expect(leaseTimesOf(lease('kube-node-lease/a'), [NODES])).toEqual({
      lease: 'kube-node-lease/a',
      renewedAt: AT,
      validUntil: AT + 40_000,
    });
    expect(leaseTimesOf(lease('default/a'), [NODES])).toBeUndefined();
  });
});

describe('reading a report', () => {
  it('gives what was reported', () => {
    const report = { valid: ['a/b'], expired: [{ lease: 'a/c', renewTime: '2026-01-01T00:00:00Z' }], leftOut: 3 };
    expect(readLeaseReport(report)).toEqual(report);
  });

  it.each([undefined, null, 7, [], { valid: 'a/b', expired: {}, leftOut: -1 }])('%j names no Lease', (status) => {
    expect(readLeaseReport(status)).toEqual({ valid: [], expired: [] });
  });

  it('leaves out what is malformed', () => {
    const status = { valid: ['a/b', 1], expired: [{}, 'a/c', { lease: 'a/d', renewTime: 'soon' }] };
    expect(readLeaseReport(status)).toEqual({ valid: ['a/b'], expired: [{ lease: 'a/d' }] });
  });
});
