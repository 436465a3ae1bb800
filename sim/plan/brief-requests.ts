/**
 * The plan's setting for requests in a hurry. Its value, in milliseconds, is the time that every third request of clients
 * of single keys and of transactions states, so that a node's deadline passes while replicas are slow, its disk is slow
 * or a key is locked.
 */
export const briefRequests = 'brief_requests_ms';
