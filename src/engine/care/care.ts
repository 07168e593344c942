import type { JsonValue } from '../../model/json.ts';
import type { ShootFigures } from '../../model/shoot-figures.ts';
import type { Derived, Input } from '../collections/types.ts';
import type { Domain, DomainParts } from '../domain.ts';
import type { StatusPart } from '../status/declared-status.ts';
import type { Progress } from '../status/progress.ts';
import { CARE, deriveAbsences } from './absences.ts';
import { deriveAgentNeeds } from './agents.ts';
import { appliedWebhooks, deriveMendable } from './applied-webhooks.ts';
import { type BoundShoot, deriveBindings } from './binding.ts';
import { deriveChecks } from './checks/checks.ts';
import { deriveConditions } from './conditions.ts';
import { deriveConstraints } from './constraints/constraints.ts';
import { acceptsHibernation } from './constraints/hibernation.ts';
import { deriveDeclarationErrors } from './declaration-errors.ts';
import { type ExplainedSources, shootEntities } from './explain.ts';
import { shootFigures } from './figures.ts';
import { deriveHibernated } from './hibernated.ts';
import type { ShootOperation } from './operation/operations.ts';
import type { AnsweredRequest, DeclaredRequest } from './operation/requests.ts';
import { wireOperations } from './operation/wire.ts';
import { deriveRemediations, remediationViewRows } from './remediations.ts';
import { careSettings } from './settings.ts';
import { deriveUndeclaredShoots, type ShownShoot, shownShoots } from './shown-shoots.ts';
import { deriveSleepers, deriveSleepingClusters } from './sleep.ts';
import { deriveShootStatuses } from './statuses.ts';
import { shootRows } from './views.ts';
import { deriveSnapshotsHere } from './visibility.ts';

/** What other parts of the program read of the domain. */
export interface CareParts extends DomainParts {
  /** Of the declared Shoots by namespace and name. */
  readonly figures: () => readonly ShootFigures[];
  readonly bindings: Derived<BoundShoot>;
  readonly hibernated: Derived<boolean>;
  /** Undefined before progress is derived. */
  readonly operations: () => Derived<ShootOperation> | undefined;
  readonly declaredRequests: Derived<DeclaredRequest>;
  readonly answeredRequests: Input<AnsweredRequest>;
}

/** The care of Shoots: what their agents report becomes conditions, a last operation and a label. */
export const care: Domain<CareParts> = {
  name: CARE,
  readsLive: {},
  settings: (policy) => careSettings(policy) as unknown as JsonValue,
  accepts: acceptsHibernation,
  derive: (graph, core) => {
    const { shoots, contenders, bindings, byCluster, diagnostics } = deriveBindings(graph, core);
    const { inputs, clusters, settings, documentWants } = core;
    const snapshots = deriveSnapshotsHere(graph, inputs);
    const sleepers = deriveSleepers(graph, { ...inputs, bindings });
    const reads = { ...inputs, documentWants, snapshots, clusters, settings, bindings, byCluster, sleepers };
    const hibernated = deriveHibernated(graph, reads);
    const asleep = deriveSleepingClusters(graph, reads);
    const { apiServer, machines, ...checks } = deriveChecks(graph, reads);
    const { absences, deadlines: ofAbsences } = deriveAbsences(graph, reads);
    const { conditions, deadlines: ofThresholds } = deriveConditions(graph, checks.findings, { ...reads, absences });
    const { constraints, collections, ...ofConstraints } = deriveConstraints(graph, {
      ...reads,
      ...{ ...machines, shoots, apiServer, absences },
    });
    const operation = wireOperations(graph, core, { ...reads, hibernated, apiServer });
    const agents = deriveAgentNeeds(graph, { ...core, bindings });
    const declarationErrors = deriveDeclarationErrors(graph, core.declarations, inputs);
    const undeclared = deriveUndeclaredShoots(graph, core.inputs, bindings);
    const remediations = deriveRemediations(graph, inputs);
    const mendable = deriveMendable(graph, core.documents);
    /** Derived last, after progress. */
    let statuses: Derived<StatusPart> | undefined;
    let progress: Derived<Progress> | undefined;
    const sources = (): ExplainedSources | undefined =>
      statuses && {
        ...core.inputs,
        ...core,
        ...{ bindings, statuses, undeclared, judged: conditions, judgedConstraints: constraints },
      };
    const written = { ...reads, ...operation, declarationErrors, hibernated, conditions, constraints };
    const { declaredRequests, answeredRequests } = operation;
    return {
      ...{ bindings, hibernated, operations: operation.derived, declaredRequests, answeredRequests },
      collections: {
        bySource: [],
        anywhere: [],
        shown: [
          ...[shoots, contenders, bindings, snapshots, sleepers, hibernated, asleep, undeclared],
          declarationErrors,
          ...[...checks.collections, absences, conditions],
          ...[...collections, ...agents.collections, ...operation.collections, remediations, mendable],
        ],
      },
      agents: agents.needs,
      inputs: operation.inputs,
      tries: operation.tries,
      deadlines: [ofAbsences, ofThresholds, ...ofConstraints.deadlines, ...checks.deadlines, ...operation.deadlines],
      asleep,
      remediations,
      statuses: (after) => {
        progress = after.progress;
        statuses = deriveShootStatuses(graph, { ...written, operations: operation.derive(after) });
        return statuses;
      },
      figures: () => shootFigures(listed(sources())),
      views: {
        shoots: (filter) => shootRows(listed(sources()), filter),
        remediations: (filter) => remediationViewRows(remediations, filter),
      },
      diagnostics: () => [
        ...diagnostics(),
        ...(progress === undefined ? [] : appliedWebhooks({ mendable, needs: agents.needs, progress })),
      ],
      entities: [shootEntities(sources)],
    };
  },
};

function listed(sources: ExplainedSources | undefined): readonly ShownShoot[] {
  return sources === undefined ? [] : shownShoots(sources);
}
