import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { ApiRequest } from '../servers/kubernetes.ts'

interface File {
  path: string
  content: Buffer | string
  mode: number
}

/** What the kubelet knows when it fills volumes. */
export interface VolumeContext {
  request: ApiRequest
  /** As the API server has it. */
  pod: any
  /** Stands in for what differs on this machine: addresses of Services, ports. */
  rewrite(text: string): string
}

/** Fills a volume's folder as the kubelet does: files behind links, all exchanged at once by renaming one link. */
export async function fillVolume(dir: string, volume: any, context: VolumeContext): Promise<void> {
  mkdirSync(dir, { recursive: true })
  const group: number = context.pod.spec.securityContext?.fsGroup ?? 0
  chownSync(dir, 0, group)
  if (volume.emptyDir || volume.persistentVolumeClaim) return chmodSync(dir, 0o2777)
  chmodSync(dir, 0o755)
  const files = await filesOf(volume, context)
  const fresh = mkdtempSync(join(dir, '..data-'))
  chmodSync(fresh, 0o755)
  for (const { path, content, mode } of files) {
    const file = join(fresh, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    chownSync(file, 0, group)
    chmodSync(file, mode)
  }
  swap(dir, fresh)
}

function swap(dir: string, fresh: string): void {
  const link = join(dir, '..data')
  const old = existsSync(link) ? readlinkSync(link) : undefined
  symlinkSync(fresh.slice(dir.length + 1), join(dir, '..data_tmp'))
  renameSync(join(dir, '..data_tmp'), link)
  for (const name of readdirSync(fresh)) {
    if (!existsSync(join(dir, name))) symlinkSync(join('..data', name), join(dir, name))
  }
  if (old !== undefined) rmSync(join(dir, old), { recursive: true })
}

async function filesOf(volume: any, context: VolumeContext): Promise<File[]> {
  const { configMap, secret, projected } = volume
  if (configMap) return sourceFiles({ configMap }, configMap.defaultMode ?? 0o644, context)
  if (secret)
    return sourceFiles(
      { secret: { ...secret, name: secret.secretName } },
      secret.defaultMode ?? 0o644,
      context,
    )
  if (!projected) throw new Error(`this test bed has no volumes such as ${JSON.stringify(volume)}`)
  const all = projected.sources.map((it: any) => sourceFiles(it, projected.defaultMode ?? 0o644, context))
  return (await Promise.all(all)).flat()
}

async function sourceFiles(source: any, mode: number, context: VolumeContext): Promise<File[]> {
  const { pod, request, rewrite } = context
  const { namespace, name, uid } = pod.metadata
  const { configMap, secret, serviceAccountToken, downwardAPI } = source
  if (configMap) {
    const found = await read(
      request,
      `/api/v1/namespaces/${namespace}/configmaps/${configMap.name}`,
      configMap,
    )
    return chosen(found?.data, configMap, mode).map((it) => ({ ...it, content: rewrite(String(it.content)) }))
  }
  if (secret) {
    const found = await read(request, `/api/v1/namespaces/${namespace}/secrets/${secret.name}`, secret)
    return chosen(found?.data, secret, mode).map((it) => ({
      ...it,
      content: Buffer.from(String(it.content), 'base64'),
    }))
  }
  if (serviceAccountToken) {
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/${pod.spec.serviceAccountName}/token`
    const { expirationSeconds, path } = serviceAccountToken
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid }
    const answer: any = await request('POST', account, { spec: { expirationSeconds, boundObjectRef } })
    return [{ path, content: answer.status.token, mode }]
  }
  return downwardAPI.items.map(({ path, fieldRef }: any) => ({
    path,
    content: fieldOf(pod, fieldRef.fieldPath),
    mode,
  }))
}

async function read(request: ApiRequest, path: string, { optional }: { optional?: boolean }): Promise<any> {
  return request('GET', path).catch((error) => {
    if (optional && String(error).includes('answered 404')) return undefined
    throw error
  })
}

/** All keys, or those that `items` names. */
function chosen(data: Record<string, string> | undefined, { items }: any, mode: number): File[] {
  const pairs: { key: string; path: string; mode?: number }[] =
    items ?? Object.keys(data ?? {}).map((key) => ({ key, path: key }))
  if (!data) return []
  return pairs.map(({ key, path, mode: own }) => {
    if (data[key] === undefined) throw new Error(`there is no key ${key}`)
    return { path, content: data[key], mode: own ?? mode }
  })
}

export function fieldOf(pod: any, path: string): string {
  return String(path.split('.').reduce((at, field) => at?.[field], pod) ?? '')
}
