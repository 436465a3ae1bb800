/**
 * The protobuf schema (proto2) of gossip messages. New fields are `optional`, and a reader skips fields that it does
 * not know. gossip-codec.ts writes this form without the schema, and reads it so where it can.
 */
import protobuf from 'protobufjs';

const schema = protobuf.parse(
  `
  syntax = "proto2";
  package lockstep.gossip;

  message Digest {
    required string node = 1;
    required double generation = 2;
    required double version = 3;
  }

  message Record {
    required string node = 1;
    required double generation = 2;
    required double version = 3;
    required string epoch = 4;
    required string state = 5;
    optional bool left = 6;
    required string address = 7;
    required string datacenter = 8;
    required string rack = 9;
    repeated fixed32 tokens = 10 [packed = true];
    optional bool away = 11;
    optional string move = 12;
    optional string replaces = 13;
    optional double joined = 14;
    optional double supersedes = 15;
  }

  message News {
    required string topic = 1;
    required string digest = 2;
  }

  message Words {
    repeated Digest digest = 1;
    // Each is a Record.
    repeated bytes records = 2;
    optional string view = 3;
    repeated News news = 4;
  }
`,
  { keepCase: true },
).root;

/** A gossip message; its records are bytes, each a `Record`. */
export const wordsType = schema.lookupType('lockstep.gossip.Words');
/** A member's record. */
export const recordType = schema.lookupType('lockstep.gossip.Record');
