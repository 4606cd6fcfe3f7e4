import { cronJob, job } from './batch.ts'
import { definition, namespace } from './cluster.ts'
import { groupOf } from './command.ts'
import { configMap, secret } from './config.ts'
import { generic } from './generic.ts'
import { endpointSlice, gateway, ingress, service } from './network.ts'
import { node } from './nodes.ts'
import { pod } from './pods.ts'
import { scaler } from './scaler.ts'
import { claim, volume } from './storage.ts'
import type { Teller } from './told.ts'
import { workload } from './workloads.ts'

/** Who tells of which kind. */
const TELLERS = new Map<string, Teller>([
  ['/Pod', pod],
  ['/Node', node],
  ['/Namespace', namespace],
  ['/ConfigMap', configMap],
  ['/Secret', secret],
  ['/Service', service],
  ['/PersistentVolumeClaim', claim],
  ['/PersistentVolume', volume],
  ['apps/Deployment', workload],
  ['apps/StatefulSet', workload],
  ['apps/DaemonSet', workload],
  ['apps/ReplicaSet', workload],
  ['batch/Job', job],
  ['batch/CronJob', cronJob],
  ['autoscaling/HorizontalPodAutoscaler', scaler],
  ['networking.k8s.io/Ingress', ingress],
  ['discovery.k8s.io/EndpointSlice', endpointSlice],
  ['gateway.networking.k8s.io/Gateway', gateway],
  ['apiextensions.k8s.io/CustomResourceDefinition', definition],
])

export function tellerOf({ apiVersion, kind }: { apiVersion: string; kind: string }): Teller {
  return TELLERS.get(`${groupOf(apiVersion)}/${kind}`) ?? generic
}
