import { expect, test } from 'vitest'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { startBed } from './bed.ts'

test('a bed whose configuration is refused leaves no server behind', async () => {
  let started: Kubernetes | undefined
  const bed = startBed({
    flags: [],
    watch: '[{ kind: }]',
    kubeconfig(kubernetes) {
      started = kubernetes
      return kubernetes.kubeconfig
    },
  })
  await expect(bed).rejects.toThrow('kubeherald ended with')
  await expect(fetch(`${started?.etcdUrl}/version`)).rejects.toThrow('fetch failed')
})
