import { existsSync } from 'node:fs'
import { formatProblems } from '../../config/problem.ts'
import { STANDARD_INPUT } from '../../config/read-text.ts'
import type { Config } from '../../config/schema.ts'
import { changesIn, type ReadChange } from '../../dry-run/read-changes.ts'
import { readObjects } from '../../dry-run/read-objects.ts'
import { userAgent } from '../../version.ts'
import { connectCluster } from '../../watch/connect.ts'
import { discover } from '../../watch/discovery.ts'
import { findKubeconfig } from '../../watch/kubeconfig.ts'
import { kubeconfigOptions, loadCluster } from '../cluster-access.ts'
import { readInput } from '../reading/read-input.ts'
import { UsageError } from '../usage-error.ts'
import { liveTarget, readLive } from './live-object.ts'

export interface ExplainInput {
  /** What it was read from, for people. */
  from: string
  changes: readonly ReadChange[]
  /** Objects known besides. */
  around: readonly unknown[]
  /** What is not known, and why. */
  notes: readonly string[]
}

/** Reads what is to be explained: a file, the standard input for `-`, else an object of the cluster. */
export async function readExplainInput(
  target: string,
  config: Config,
  context: string | undefined,
): Promise<ExplainInput> {
  const live = target === '-' || existsSync(target) ? undefined : liveTarget(target)
  const isFile = /\.(ya?ml|json)$/.test(target)
  if (!live && !isFile && target !== '-' && !existsSync(target))
    throw new UsageError(`there is no file "${target}"; an object of the cluster is ${WRITTEN}`)
  if (!live || isFile) return { ...(await readFromFile(target)), around: [], notes: [] }
  const kubeconfig = kubeconfigOptions(config.kubernetes, context)
  if (context === undefined && !findKubeconfig(kubeconfig))
    throw new UsageError(
      `there is no file ${target}, and no kubeconfig ($KUBECONFIG, ~/.kube/config) to ask a cluster for such an object`,
    )
  const { namespace = 'default' } = loadCluster(kubeconfig)
  const client = connectCluster({ ...kubeconfig, userAgent })
  const signal = AbortSignal.timeout(15_000)
  try {
    const catalogue = await discover(client, signal)
    const { object, around, notes } = await readLive(live, client, catalogue, namespace, signal)
    return { from: `the cluster at ${client.url}`, changes: [{ object }], around, notes }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new Error(
      `${target} cannot be read from the cluster at ${client.url}: ${(error as Error).message}`,
      {
        cause: error,
      },
    )
  } finally {
    await client.close()
  }
}

async function readFromFile(file: string): Promise<Pick<ExplainInput, 'from' | 'changes'>> {
  const from = file === '-' ? STANDARD_INPUT : file
  const text = await readInput(file)
  const read = readObjects(from, text)
  if (!read.ok)
    throw new UsageError(
      `${from} cannot be read\n\n${formatProblems(read.problems, new Map([[from, text]]))}`,
    )
  const changes = read.values.map(changesIn)
  if (changes.some((it) => it === undefined))
    throw new UsageError(`${from} is no Kubernetes object: ${WANTED}`)
  return { from, changes: changes.flatMap((it) => it ?? []) }
}

/** The one object of a file, such as the former state of another. */
export async function readOneObject(file: string): Promise<unknown> {
  const { from, changes } = await readFromFile(file)
  const [only] = changes
  if (!only || changes.length > 1)
    throw new UsageError(`${from} must hold one object, and holds ${changes.length}`)
  return only.object
}

const WRITTEN = 'written kind/namespace/name or kind/name: pod/shop/web-1, node/worker-1'
const WANTED =
  'it needs apiVersion and kind. A List, a frame of a watch, a CloudEvent or a dead letter of kubeherald will do, too'
