import { lines, type Row, SERVER } from './panels.ts';

/** The row about Shoots. */
export const SHOOTS: Row = {
  title: 'Shoots',
  panels: [
    lines('API servers, by status of their condition', [
      [shootsBy('status', 'condition="APIServerAvailable"'), '{{status}}'],
    ]),
    lines('Conditions that are False', [[shootsBy('condition', 'status="False"'), '{{condition}}']]),
    lines('Conditions that are not known', [[shootsBy('condition', 'status="Unknown"'), '{{condition}}']]),
    lines('Last operations', [
      [
        `sum by (operation, state) (max by (namespace, job, operation, state, iaas, seed, version, region) (fleetrelay_shoot_operations_total{${SERVER}}))`,
        '{{operation}} {{state}}',
      ],
    ]),
    lines('Operations under way, by Shoot: percent', [
      [
        `topk(10, max by (project, name, operation) (fleetrelay_shoot_operation_progress_percent{${SERVER}} and fleetrelay_shoot_operation_states{${SERVER}} == 2))`,
        '{{project}}/{{name}}: {{operation}}',
      ],
    ]),
    lines('Shoots that sleep', [
      [`sum(max by (project, name) (fleetrelay_shoot_hibernated{${SERVER}}))`, 'hibernated'],
    ]),
  ],
};

/** Replicas count the same Shoots. */
function shootsBy(label: string, selected: string): string {
  const all = 'namespace, job, condition, status, operation, is_seed, purpose, iaas';
  return `sum by (${label}) (max by (${all}) (fleetrelay_shoots_by_condition{${SERVER}, ${selected}}))`;
}
