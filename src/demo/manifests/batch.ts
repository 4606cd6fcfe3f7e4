import type { KubeObject, OwnerReference } from '../objects.ts'
import { type App, labelsOf, type PodTemplate, podTemplate } from './workload.ts'

export interface Job extends KubeObject {
  spec: { template: PodTemplate } & Record<string, unknown>
  status: {
    active?: number
    succeeded?: number
    startTime?: string
    completionTime?: string
    conditions?: object[]
  }
}

export interface CronJob extends KubeObject {
  spec: { schedule: string; jobTemplate: object } & Record<string, unknown>
  status: { lastScheduleTime?: string; lastSuccessfulTime?: string; active?: object[] }
}

export function cronJob(app: App, schedule: string): CronJob {
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: app.name, namespace: app.namespace, labels: labelsOf(app) },
    spec: {
      schedule,
      concurrencyPolicy: 'Forbid',
      suspend: false,
      jobTemplate: { spec: { template: batchTemplate(app) } },
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 1,
    },
    status: {},
  }
}

export function job(app: App, name: string, ownerReferences: OwnerReference[]): Job {
  const labels = { ...labelsOf(app), 'batch.kubernetes.io/job-name': name }
  const template = batchTemplate(app)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace: app.namespace,
      labels,
      ...(ownerReferences.length > 0 && { ownerReferences }),
    },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 3,
      template: { ...template, metadata: { ...template.metadata, labels } },
      completionMode: 'NonIndexed',
      suspend: false,
    },
    status: {},
  }
}

function batchTemplate(app: App): PodTemplate {
  const template = podTemplate(app)
  return { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
}
