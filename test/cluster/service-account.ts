import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'undici'
import { parseAllDocuments } from 'yaml'
import type { Kubernetes } from '../servers/kubernetes.ts'

interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string }
}

/** Applies manifests as `kubectl apply --server-side --validate=strict` does; throws what the server says against them. */
export async function applyStrictly(kubernetes: Kubernetes, yaml: string): Promise<void> {
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  try {
    for (const document of parseAllDocuments(yaml)) {
      const manifest = document.toJS() as Manifest
      const path = `${pathOf(manifest)}?fieldManager=test&fieldValidation=Strict&force=true`
      const { statusCode, headers, body } = await request(`${kubernetes.url}${path}`, {
        dispatcher: agent,
        method: 'PATCH',
        headers: { authorization: 'Bearer admin', 'content-type': 'application/apply-patch+yaml' },
        body: document.toString(),
      })
      const text = await body.text()
      if (statusCode >= 300 || headers['warning'])
        throw new Error(`${path}: ${headers['warning'] ?? ''} ${text}`)
    }
  } finally {
    await agent.close()
  }
}

/** The path of an object that such manifests hold. */
export function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
  return `${root}${scope}/${kind.toLowerCase()}s/${metadata.name}`
}

/** A kubeconfig that holds a token of a service account, as a pod gets one, and nothing else. */
export async function kubeconfigOfAccount(
  kubernetes: Kubernetes,
  { namespace, name }: { namespace: string; name: string },
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const answer = (await kubernetes.request('POST', path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3_600 },
  })) as { status: { token: string } }
  const config = JSON.parse(readFileSync(kubernetes.kubeconfig, 'utf8'))
  config.users[0].user = { token: answer.status.token }
  const file = `${kubernetes.kubeconfig}-${namespace}-${name}`
  writeFileSync(file, JSON.stringify(config))
  return file
}
