import type { Derived, Input } from '../../../engine/collections/types.ts';
import type { AfterProgress, Domain, DomainParts, DomainReport } from '../../../engine/domain.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import type { RecordedRemediation } from '../model/remediations.ts';
import type { ShootFigures } from '../model/shoot-figures.ts';
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
import { careSection, careSettings } from './settings.ts';
import { deriveUndeclaredShoots, shownShoots } from './shown-shoots.ts';
import { deriveSleepers, deriveSleepingClusters } from './sleep.ts';
import { deriveShootStatuses } from './statuses.ts';
import { shootRows } from './views.ts';
import { deriveSnapshotsHere } from './visibility.ts';

/** What other parts of the program read of the domain. */
export interface CareParts extends DomainParts {
  readonly bindings: Derived<BoundShoot>;
  readonly hibernated: Derived<boolean>;
  /** See {@link DomainAgents.asleep}. */
  readonly asleep: Derived<string>;
  readonly declaredRequests: Derived<DeclaredRequest>;
  readonly answeredRequests: Input<AnsweredRequest>;
  /** What agents have done about webhooks of others, the oldest first. Partition and key: the cluster. */
  readonly remediations: Derived<readonly RecordedRemediation[]>;
  readonly report: (after: AfterProgress) => CareReport;
}

/** What other parts of the program read of the report. */
interface CareReport extends DomainReport {
  readonly operations: Derived<ShootOperation>;
  /** Of the declared Shoots by namespace and name. */
  readonly figures: () => readonly ShootFigures[];
}

/** The care of Shoots: what their agents report becomes conditions, a last operation and a label. */
export const care: Domain<CareParts> = {
  name: CARE,
  readsLive: {},
  section: careSection,
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
    const conditional = { ...reads, ...machines, shoots, apiServer, absences };
    const { constraints, collections, ...ofConstraints } = deriveConstraints(graph, conditional);
    const operation = wireOperations(graph, core, { ...reads, hibernated, apiServer });
    const agents = deriveAgentNeeds(graph, { ...core, bindings });
    const declarationErrors = deriveDeclarationErrors(graph, core.declarations, inputs);
    const undeclared = deriveUndeclaredShoots(graph, core.inputs, bindings);
    const remediations = deriveRemediations(graph, inputs);
    const mendable = deriveMendable(graph, core.documents);
    const { declaredRequests, answeredRequests } = operation;
    const own = { bindings, hibernated, asleep, declaredRequests, answeredRequests, remediations };
    const declared = [shoots, contenders, bindings, snapshots, sleepers, hibernated, asleep, undeclared];
    const found = [...checks.collections, absences, conditions, ...collections, ...agents.collections];
    return {
      ...own,
      collections: {
        bySource: [],
        anywhere: [],
        shown: [...declared, declarationErrors, ...found, ...operation.collections, remediations, mendable],
      },
      inputs: operation.inputs,
      makes: {
        tries: {
          of: operation.tries,
          whyStopped: 'an operation of its Shoot has failed, which stops it: see fleetrelay shoot retry',
        },
      },
      agents: { needs: agents.needs, asleep },
      deadlines: [ofAbsences, ofThresholds, ...ofConstraints.deadlines, ...checks.deadlines, ...operation.deadlines],
      report: (after) => {
        const operations = operation.derive(after);
        const written = { ...reads, ...operation, operations, declarationErrors, hibernated, conditions, constraints };
        const statuses = deriveShootStatuses(graph, written);
        const judged = { judged: conditions, judgedConstraints: constraints };
        const sources: ExplainedSources = { ...inputs, ...core, bindings, statuses, undeclared, ...judged };
        return {
          operations,
          statuses,
          figures: () => shootFigures(shownShoots(sources)),
          shows: {
            views: {
              shoots: (filter) => shootRows(shownShoots(sources), filter),
              remediations: (filter) => remediationViewRows(remediations, filter),
            },
            diagnostics: () => [
              ...diagnostics(),
              ...appliedWebhooks({ mendable, needs: agents.needs, progress: after.progress }),
            ],
            entities: [shootEntities(sources)],
          },
        };
      },
    };
  },
};
