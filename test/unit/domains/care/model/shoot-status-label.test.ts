import { describe, expect, test } from 'vitest';
import { shootStatusLabel } from '../../../../../src/domains/care/model/shoot-status-label.ts';

const label = (operation: string | undefined, errors: number, ...statuses: readonly string[]) => {
  const [type = '', state = ''] = operation?.split('/') ?? [];
  return shootStatusLabel({
    lastOperation: operation === undefined ? undefined : { type, state },
    lastErrors: Array.from({ length: errors }, () => ({ description: 'failed' })),
    conditions: statuses.map((status) => ({ status })),
  });
};

describe('the label shoot.gardener.cloud/status', () => {
  test.each([
    [undefined, 0, [], 'healthy'],
    ['Create/', 0, [], 'healthy'],
    ['Delete/', 0, [], 'healthy'],
    ['Create/', 1, [], 'unhealthy'],
    ['Delete/', 1, [], 'unhealthy'],
    ['/Processing', 0, [], 'healthy'],
    ['/Processing', 1, [], 'unhealthy'],
    ['/Succeeded', 0, [], 'healthy'],
    ['/Succeeded', 0, ['False'], 'unhealthy'],
    ['Create/Succeeded', 0, ['False'], 'unhealthy'],
    [undefined, 1, ['False'], 'healthy'],
    ['Delete/Succeeded', 0, ['False'], 'healthy'],
    ['Reconcile/Processing', 0, ['Progressing', 'Unknown'], 'unknown'],
    ['Create/Processing', 0, ['False'], 'healthy'],
    ['Create/Pending', 0, [], 'healthy'],
    ['Migrate/Pending', 0, ['True'], 'unhealthy'],
    ['Reconcile/Error', 0, ['True'], 'unhealthy'],
    ['Reconcile/Failed', 0, ['True'], 'unhealthy'],
    ['Restore/Aborted', 0, ['True'], 'unhealthy'],
    ['Reconcile/Processing', 1, ['True'], 'unhealthy'],
    ['Reconcile/Succeeded', 1, ['True', 'Progressing'], 'progressing'],
    ['Reconcile/Succeeded', 0, ['odd'], 'unhealthy'],
  ] as const)('%s with %d errors and conditions %s: %s', (operation, errors, statuses, expected) => {
    expect(label(operation, errors, ...statuses)).toBe(expected);
  });

  test.each([
    ['True', 'Progressing', 'progressing'],
    ['Progressing', 'Unknown', 'unknown'],
    ['Unknown', 'False', 'unhealthy'],
  ])('of %s and %s the worse one counts, in any order', (a, b, expected) => {
    expect(label('Reconcile/Succeeded', 0, a, b)).toBe(expected);
    expect(label('Reconcile/Succeeded', 0, b, a)).toBe(expected);
  });
});
