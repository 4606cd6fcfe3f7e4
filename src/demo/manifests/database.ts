import type { KubeObject } from '../objects.ts'

export interface Database extends KubeObject {
  spec: { engine: string; version: string; replicas: number; storage: string; backup: object }
  status: DatabaseStatus
}

export interface DatabaseStatus {
  phase: 'Pending' | 'Provisioning' | 'Ready' | 'Upgrading' | 'BackingUp' | 'Deleting'
  observedGeneration: number
  readyReplicas: number
  endpoint?: string
  version?: string
  lastBackup?: string
  message?: string
}

export interface DatabaseOptions {
  name: string
  namespace: string
  team: string
  tier: 'gold' | 'silver'
  version: string
}

export function database({ name, namespace, team, tier, version }: DatabaseOptions): Database {
  return {
    apiVersion: 'stable.example.com/v1',
    kind: 'Database',
    metadata: { name, namespace, labels: { team, tier } },
    spec: {
      engine: 'postgres',
      version,
      replicas: tier === 'gold' ? 3 : 1,
      storage: tier === 'gold' ? '200Gi' : '20Gi',
      backup: { schedule: '15 2 * * *', retention: '14d' },
    },
    status: { phase: 'Pending', observedGeneration: 0, readyReplicas: 0 },
  }
}

/** The definition that makes the API server serve Databases. */
export function databaseDefinition(at: string): KubeObject {
  const names = {
    plural: 'databases',
    singular: 'database',
    shortNames: ['db'],
    kind: 'Database',
    listKind: 'DatabaseList',
  }
  const field = (type: string) => ({ type })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'databases.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      names,
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  required: ['engine', 'version'],
                  properties: {
                    engine: { type: 'string', enum: ['postgres', 'mysql'] },
                    version: field('string'),
                    replicas: field('integer'),
                    storage: field('string'),
                    backup: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  },
                },
                status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          },
          subresources: { status: {} },
        },
      ],
      conversion: { strategy: 'None' },
    },
    status: {
      conditions: [
        {
          type: 'NamesAccepted',
          status: 'True',
          lastTransitionTime: at,
          reason: 'NoConflicts',
          message: 'no conflicts found',
        },
        {
          type: 'Established',
          status: 'True',
          lastTransitionTime: at,
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        },
      ],
      acceptedNames: names,
      storedVersions: ['v1'],
    },
  }
}
