import { startFakeCluster } from '../servers/fake-broker.ts'

// A broker that keeps nothing, in a process of its own. Prints its port.
const cluster = await startFakeCluster({ events: [0, 0, 0] })
cluster.onProduce(() => {
  if (cluster.produced.length >= 100) cluster.forget()
  return undefined
})
console.log(cluster.brokers[0]?.split(':')[1])
process.on('disconnect', () => process.exit(0))
