/**
 * The bodies of frames as a protobuf schema (proto2: the decoder checks `required`). It is text in a module, so that
 * the build copies no assets.
 *
 * Rules of change: a field's number and type never change. New fields are `optional`, and a reader skips fields that it
 * does not know. `bytes` stands for byte strings (keys) and for the formats of other modules (objects, contexts,
 * contents). In messages with values, those fields come last (`client_name` was added after the values before it, and
 * `trace` after those).
 */
import protobuf from 'protobufjs';

const schemaText = `
  syntax = "proto2";
  package lockstep.peer;

  message Hello {
    required string cluster_id = 1;
    required string node = 2;
    required string datacenter = 3;
    required string rack = 4;
    repeated fixed32 tokens = 5 [packed = true];
    required string epoch = 6;
    required string version = 7;
    required double generation = 8;
    optional bool joining = 9;
    optional string replaces = 10;
    optional string view = 11;
    optional uint32 messages_min = 12;
    optional uint32 messages_max = 13;
    optional string blank_at = 14;
  }

  message Refusal {
    required string reason = 1;
    required string detail = 2;
    optional double generation = 3;
    repeated fixed32 tokens = 4 [packed = true];
  }

  message ReadObject {
    required bytes key = 1;
    required fixed32 token = 2;
    optional uint32 bytes_max = 3;
    optional bytes version = 4;
    optional bytes trace = 15;
  }

  message MergeObject {
    required bytes key = 1;
    required fixed32 token = 2;
    required bytes object = 3;
    optional bytes client_name = 4;
    optional bytes trace = 15;
  }

  message CoordinateWrite {
    required bytes key = 1;
    required fixed32 token = 2;
    required string level = 3;
    optional bool if_none_match = 4;
    optional bytes if_context = 5;
    optional bytes context = 6;
    required bytes content = 7;
    optional double asked_life = 8;
    optional double asked_number = 9;
    optional double heard_life = 10;
    optional bytes trace = 15;
  }

  message Object {
    optional bytes object = 1;
    optional uint32 described_bytes = 2;
    optional bytes described_digest = 3;
    optional bool same = 4;
  }

  message Written {
    optional bool sole = 1;
  }

  message Coordinated {
    required bytes object = 1;
  }

  message Gossip {
    required bytes words = 1;
  }

  message MergeBatch {
    required bytes words = 1;
    optional bytes client_name = 2;
    optional bytes trace = 15;
  }

  message MergeMany {
    required bytes words = 1;
  }

  message MergedMany {
    required bytes words = 1;
  }

  message ReadMany {
    required bytes words = 1;
  }

  message ReadManyAnswered {
    required bytes words = 1;
  }

  message Transact {
    required bytes words = 1;
    optional bytes trace = 15;
  }

  message AntiEntropy {
    required bytes words = 1;
  }

  message TransferRange {
    required bytes words = 1;
  }

  message WasmModules {
    required bytes words = 1;
  }

  message ListNames {
    required bytes words = 1;
  }

  message Properties {
    required bytes words = 1;
  }

  message MapPhase {
    required bytes words = 1;
  }

  message Reap {
    required bytes words = 1;
  }

  message Pubsub {
    required bytes words = 1;
  }

  message KeepHint {
    required bytes words = 1;
  }

  message Failed {
    required uint32 code = 1;
    required string detail = 2;
    optional bool definite = 3;
    optional uint32 got = 4;
    optional uint32 needed = 5;
  }
`;

const root = protobuf.parse(schemaText, { keepCase: false }).root;

/** The schema's message type `name`, ready to encode and decode. */
export function schemaType(name: string): protobuf.Type {
  return root.lookupType(`lockstep.peer.${name}`);
}
