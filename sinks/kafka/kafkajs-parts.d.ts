// The parts of kafkajs 2.2.4 that kafkajs.ts uses; they are not among its published types.
declare module 'kafkajs/src/broker/index.js' {
  const Broker: import('./kafkajs.ts').BrokerClass
  export default Broker
}
declare module 'kafkajs/src/network/connectionPool.js' {
  const ConnectionPool: import('./kafkajs.ts').ConnectionPoolClass
  export default ConnectionPool
}
declare module 'kafkajs/src/network/requestQueue/index.js' {
  const RequestQueue: { prototype: import('./kafkajs.ts').KafkaRequestQueue }
  export default RequestQueue
}
declare module 'kafkajs/src/protocol/requests/index.js' {
  const protocol: { requests: Record<string, unknown> }
  export default protocol
}
declare module 'kafkajs/src/protocol/requests/apiKeys.js' {
  const apiKeys: Record<string, number>
  export default apiKeys
}
declare module 'kafkajs/src/loggers/index.js' {
  const loggers: {
    createLogger(options: {
      level: number
      logCreator: () => (entry: import('./kafkajs.ts').LogEntry) => void
    }): unknown
  }
  export default loggers
}
declare module 'kafkajs/src/protocol/recordBatch/crc32C/index.js' {
  const crc32c: (bytes: { buffer: Buffer }['buffer']) => number
  export default crc32c
}
declare module 'kafkajs/package.json' {
  const manifest: { version: string }
  export default manifest
}
