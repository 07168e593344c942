import { customResourceDefinitionRule } from '../custom/definition-rule.ts';
import type { ObjectCheck } from '../object-check.ts';
import { horizontalPodAutoscalerRule } from './autoscalers.ts';
import { configMapRule, secretRule } from './config-data.ts';
import { podDisruptionBudgetRule } from './disruption-budgets.ts';
import { ingressClassRule, ingressRule } from './ingresses.ts';
import { cronJobRule, jobRule } from './jobs.ts';
import { networkPolicyRule } from './network-policies.ts';
import { clusterRoleBindingRule, clusterRoleRule, roleBindingRule, roleRule } from './rbac.ts';
import { serviceRule } from './services.ts';
import {
  daemonSetRule,
  deploymentRule,
  podRule,
  podTemplateRule,
  replicaSetRule,
  replicationControllerRule,
  statefulSetRule,
} from './workloads.ts';

/**
 * What the API server checks of built-in kinds beyond their schema, by `group/Kind` (`/Pod`, `apps/Deployment`), for all
 * versions of the kind.
 */
export const rules: Readonly<Record<string, ObjectCheck>> = {
  '/ConfigMap': configMapRule,
  '/Pod': podRule,
  '/PodTemplate': podTemplateRule,
  '/ReplicationController': replicationControllerRule,
  '/Secret': secretRule,
  '/Service': serviceRule,
  'apiextensions.k8s.io/CustomResourceDefinition': customResourceDefinitionRule,
  'apps/DaemonSet': daemonSetRule,
  'apps/Deployment': deploymentRule,
  'apps/ReplicaSet': replicaSetRule,
  'apps/StatefulSet': statefulSetRule,
  'autoscaling/HorizontalPodAutoscaler': horizontalPodAutoscalerRule,
  'batch/CronJob': cronJobRule,
  'batch/Job': jobRule,
  'networking.k8s.io/Ingress': ingressRule,
  'networking.k8s.io/IngressClass': ingressClassRule,
  'networking.k8s.io/NetworkPolicy': networkPolicyRule,
  'policy/PodDisruptionBudget': podDisruptionBudgetRule,
  'rbac.authorization.k8s.io/ClusterRole': clusterRoleRule,
  'rbac.authorization.k8s.io/ClusterRoleBinding': clusterRoleBindingRule,
  'rbac.authorization.k8s.io/Role': roleRule,
  'rbac.authorization.k8s.io/RoleBinding': roleBindingRule,
};
