export interface DemoCluster extends AsyncDisposable {
  url: string
  /** A kubeconfig file for it. */
  kubeconfig: string
}

export async function startDemoCluster(_parts: {
  random(): number
  clock: { now(): number }
}): Promise<DemoCluster> {
  throw new Error('to be written')
}
