import { describe, expect, test } from 'vitest';
import type { ShootFigures } from '../../../../../src/domains/care/model/shoot-figures.ts';
import { SHOOT_METRICS } from '../../../../../src/domains/care/server/shoot-metrics.ts';

/** A Shoot after an operation. */
function figures(name: string, over: Partial<ShootFigures> = {}): ShootFigures {
  return {
    ...{ namespace: 'garden-web', name, purpose: 'production', region: 'eu-west-1', kubernetesVersion: '1.33.2' },
    ...{ gardenerVersion: '1.2.3', uid: 'u-1', technicalId: `shoot--web--${name}`, iaas: 'aws', seed: 'seed' },
    ...{ seedIaas: 'gcp', seedRegion: 'eu', isSeed: false, hasUserErrors: false, isCompliant: 'True' },
    conditions: [{ type: 'APIServerAvailable', status: 'True' }],
    operation: { type: 'Reconcile', state: 'Succeeded', progress: 100 },
    isHibernated: false,
    pools: [{ name: 'pool', minimum: 1, maximum: 3 }],
    ...over,
  };
}

function samplesOf(metric: string, shoots: readonly ShootFigures[]) {
  const { labels, samples } = SHOOT_METRICS.find(({ name }) => name === `fleetrelay_${metric}`) ?? expect.fail(metric);
  return samples(shoots).map((sample) => {
    expect(sample).toHaveLength(labels.length + 1);
    return {
      value: Number(sample.at(-1)),
      ...Object.fromEntries(labels.map((label, index) => [label, String(sample[index])])),
    } as Readonly<Record<string, string | number>>;
  });
}

describe('the metrics of Shoots', () => {
  test('a condition is 1, 0 or 2, and -1 if it is not known; before the first operation it has no sample', () => {
    const statuses = ['True', 'False', 'Progressing', 'Unknown'];
    const conditions = statuses.map((status, index) => ({ type: `Type${index}`, status }));
    const found = samplesOf('shoot_condition', [figures('blue', { conditions })]);
    expect(found.map(({ condition, value }) => [condition, value])).toEqual([
      ['Type0', 1],
      ['Type1', 0],
      ['Type2', 2],
      ['Type3', -1],
    ]);
    expect(found[0]).toEqual({
      ...{ name: 'blue', project: 'web', condition: 'Type0', operation: 'Reconcile', purpose: 'production', value: 1 },
      ...{ is_seed: 'false', iaas: 'aws', seed: 'seed', seed_iaas: 'gcp', seed_region: 'eu', uid: 'u-1' },
      ...{ technical_id: 'shoot--web--blue', has_user_errors: 'false', is_compliant: 'True' },
    });
    const { operation: _, ...fresh } = figures('red');
    expect(samplesOf('shoot_condition', [fresh])).toEqual([]);
    expect(samplesOf('shoots_by_condition', [fresh])).toEqual([]);
  });

  test.each([
    ['Succeeded', 1],
    ['Processing', 2],
    ['Pending', 3],
    ['Aborted', 4],
    ['Error', 5],
    ['Failed', 6],
    ['Strange', 0],
  ])('the last operation is %s: %i, and the four other types are 0', (state, value) => {
    const shoots = [figures('blue', { operation: { type: 'Migrate', state, progress: 42 } })];
    expect(samplesOf('shoot_operation_states', shoots).map((sample) => [sample.operation, sample.value])).toEqual([
      ['Create', 0],
      ['Reconcile', 0],
      ['Delete', 0],
      ['Migrate', value],
      ['Restore', 0],
    ]);
    const progress = samplesOf('shoot_operation_progress_percent', shoots);
    expect(progress.map((sample) => sample.value)).toEqual([0, 0, 0, 42, 0]);
  });

  test('sleep, age, Nodes and what is known of a Shoot', () => {
    const pools = [
      { name: 'a', minimum: 1, maximum: 3 },
      { name: 'b', minimum: 2, maximum: 5 },
    ];
    const shoots = [
      figures('blue', { pools, isHibernated: true, createdAt: 1_700_000_000 }),
      figures('red', { pools: [] }),
    ];
    const values = (metric: string) => samplesOf(metric, shoots).map(({ value }) => value);
    expect(values('shoot_hibernated')).toEqual([1, 0]);
    expect(values('shoot_creation_timestamp')).toEqual([1_700_000_000]);
    expect([values('shoot_node_min_total'), values('shoot_node_max_total')]).toEqual([
      [3, 0],
      [8, 0],
    ]);
    expect(samplesOf('shoot_worker_node_max_total', shoots).map((each) => [each.worker_group, each.value])).toEqual([
      ['a', 3],
      ['b', 5],
    ]);
    expect(samplesOf('shoot_info', shoots)).toMatchObject([
      { name: 'blue', is_workerless: 'false', is_hibernated: 'true', version: '1.33.2', value: 0 },
      { name: 'red', is_workerless: 'true', is_hibernated: 'false', gardener_version: '1.2.3', value: 0 },
    ]);
  });

  test('Shoots that are Seeds are not among the operations', () => {
    const shoots = [figures('a'), figures('b'), figures('seed', { isSeed: true })];
    expect(samplesOf('shoot_operations_total', shoots)).toEqual([
      {
        ...{ operation: 'Reconcile', state: 'Succeeded', iaas: 'aws', seed: 'seed', version: '1.33.2' },
        ...{ region: 'eu-west-1', value: 2 },
      },
    ]);
    expect(samplesOf('shoots_by_condition', shoots).map((each) => [each.is_seed, each.value])).toEqual([
      ['false', 2],
      ['true', 1],
    ]);
  });
});

describe('their number is bounded:', () => {
  const many = Array.from({ length: 1_200 }, (_, index) =>
    figures(`shoot-${String(index).padStart(4, '0')}`, { isHibernated: true, iaas: `cloud-${index}` }),
  );

  test('500 Shoots have samples of their own; the others are summed where a sum means something', () => {
    const hibernated = samplesOf('shoot_hibernated', many);
    expect(hibernated).toHaveLength(501);
    expect(hibernated.at(-1)).toEqual({
      name: '_other',
      project: '_other',
      uid: '_other',
      technical_id: '_other',
      value: 700,
    });
    expect(samplesOf('shoot_node_max_total', many).at(-1)).toMatchObject({ name: '_other', value: 2_100 });
    expect(samplesOf('shoot_condition', many)).toHaveLength(500);
  });

  test('every Shoot is counted, also those with a label value that is one too many', () => {
    for (const metric of ['shoots_by_condition', 'shoot_operations_total']) {
      const found = samplesOf(metric, many);
      expect(found).toHaveLength(501);
      expect(found.find(({ iaas }) => iaas === '_other')?.value).toBe(700);
    }
  });

  test('what a Gardener writes of any kind, number or length', () => {
    const conditions = Array.from({ length: 1_000 }, (_, index) => ({ type: `Strange${index}`, status: 'True' }));
    const pools = Array.from({ length: 1_000 }, (_, index) => ({ name: `pool-${index}`, minimum: 1, maximum: 2 }));
    const operation = { type: 'x'.repeat(10_000), state: 'y', progress: 1 };
    const shoots = [figures('odd', { conditions, pools, operation, region: 'z'.repeat(1_000_000) })];
    expect(samplesOf('shoot_condition', shoots)).toHaveLength(20);
    expect(samplesOf('shoots_by_condition', shoots)).toEqual([]);
    expect(samplesOf('shoot_worker_node_min_total', shoots).at(-1)).toMatchObject({
      worker_group: '_other',
      value: 980,
    });
    expect(samplesOf('shoot_operations_total', shoots)).toMatchObject([
      { operation: '_other', state: '_other', region: '_other' },
    ]);
  });
});
