import { describe, expect, it } from 'vitest';
import { unknownKindsText } from '../../../src/engine/status/clusters.ts';

const unknown = (kind: string, message: string) => ({ kind, state: 'unknown' as const, message });

describe('the report on kinds that could not be listed', () => {
  it('says one reason once, however many kinds share it, and names the first of them', () => {
    const kinds = ['/Pod', '/Node', '/Service', 'apps/Deployment', '/Secret', 'batch/Job'];
    expect(unknownKindsText(kinds.map((kind) => unknown(kind, 'connection refused')))).toBe(
      '/Node, /Pod, /Secret, /Service and 2 more cannot be listed: connection refused',
    );
  });

  it('says each reason that differs, in an order that does not depend on the order of the list', () => {
    const forbidden = unknown('/Secret', 'secrets is forbidden');
    const down = unknown('metrics.k8s.io/NodeMetrics', '');
    const text = '/Secret cannot be listed: secrets is forbidden; metrics.k8s.io/NodeMetrics cannot be listed';
    expect(unknownKindsText([forbidden, down])).toBe(text);
    expect(unknownKindsText([down, forbidden])).toBe(text);
  });
});
